import { describe, expect, it } from 'vitest';
import type { Container } from '../docker/container.js';
import { container, service } from './plan.fixture.js';
import { astray } from './upkeep.js';

const always = { name: 'unless-stopped', retriesMax: 0 };

function found(containers: readonly Partial<Container>[], around: { stopped?: string[]; isLate?: boolean } = {}) {
  const { stopped = [], isLate = false } = around;
  return astray([service()], containers.map(container), { stopped: new Set(stopped), isLate });
}

describe('what is astray', () => {
  it('is a service whose container is gone, was never started, or could not be removed', () => {
    for (const containers of [[], [{ state: 'created' }], [{ state: 'dead' }]])
      expect(found(containers)).toEqual(['web']);
    for (const state of ['running', 'paused', 'restarting', 'removing']) expect(found([{ state }])).toEqual([]);
  });

  it('is one that Docker should have started again and has not, unless somebody stopped it', () => {
    const ended = { state: 'exited', exitCode: 0, restartPolicy: always };
    expect(found([ended])).toEqual(['web']);
    expect(found([ended], { stopped: ['c1'] })).toEqual([]);
  });

  it('is not one that may end, but for an error right after the engine was away', () => {
    expect(found([{ state: 'exited', exitCode: 137 }])).toEqual([]);
    expect(found([{ state: 'exited', exitCode: 137 }], { isLate: true })).toEqual(['web']);
    expect(found([{ state: 'exited', exitCode: 0 }], { isLate: true })).toEqual([]);
  });
});
