import { describe, expect, it } from 'vitest';
import { taskOf } from './task.js';

const [A, B] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'] as const;
const compose = { id: 'app', version: 2, name: 'App', content: { services: {} } };

type Before = Parameters<typeof taskOf>[1];

function taskAfter(wanted: Parameters<typeof taskOf>[0], task: Before['task'], removals: string[] = []) {
  return taskOf(wanted, { task, removals });
}

function begun(wanted: Parameters<typeof taskOf>[0], before: Before['task'] = null, removals: string[] = []) {
  const task = taskAfter(wanted, before, removals);
  if (task === 'same') throw new Error('nothing new');
  return task;
}

describe('the task of a desired state', () => {
  it('is a new one with every assignment, also of the same version, and the same with the same assignment', () => {
    const first = begun({ compose: { ...compose, assignment: A } });
    expect(first).toMatchObject({ kind: 'up', assignment: A, stage: 'deploy', override_lock: false });
    expect(taskAfter({ compose: { ...compose, assignment: A } }, { ...first, stage: 'done' })).toBe('same');
    expect(begun({ compose: { ...compose, assignment: B, override_lock: true } }, first)).toMatchObject({
      assignment: B,
      override_lock: true,
    });
  });

  it('of a cloud that names no assignments is one for each version', () => {
    const first = begun({ compose });
    expect(taskAfter({ compose }, first)).toBe('same');
    expect(begun({ compose: { ...compose, version: 3 } }, first).assignment).not.toBe(first.assignment);
  });

  it('is a removal as it was asked for, once', () => {
    const up = begun({ compose });
    const removal = { assignment: B, volumes: true };
    const down = begun({ compose: null, compose_removal: removal }, up);
    expect(down).toMatchObject({ kind: 'down', assignment: B, volumes: true });
    expect(taskAfter({ compose: null, compose_removal: removal }, down)).toBe('same');
  });

  it('is an old removal again without its volumes, which are of what came after it', () => {
    const up = begun({ compose: { ...compose, assignment: A } });
    const removal = { assignment: B, volumes: true };
    expect(begun({ compose: null, compose_removal: removal }, up, [B])).toMatchObject({
      assignment: B,
      volumes: false,
    });
  });

  it('takes down what is no longer assigned though nobody said how, and keeps its volumes', () => {
    const down = begun({ compose: null }, begun({ compose }));
    expect(down).toMatchObject({ kind: 'down', volumes: false });
    expect(taskAfter({ compose: null }, down)).toBe('same');
  });

  it('is none where nothing was ever assigned', () => {
    expect(taskAfter({ compose: null }, null)).toBe('same');
  });
});
