import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { silent, tempDataDir } from '../../spool/fixture.js';
import { StateFile } from './state-file.js';
import { taskOf } from './task.js';

const ID = '11111111-1111-4111-8111-111111111111';

function open(directory: string, newId: () => string = () => ID): StateFile {
  return new StateFile({ directory, newId, log: silent });
}

describe("the deployment's state", () => {
  it('is the same after a crash, the document of the last good version with it', () => {
    const directory = tempDataDir();
    const first = open(directory);
    const content = { services: { web: { image: 'web:1' } } };
    const task = taskOf({ compose: { id: 'app', version: 3, name: 'App', content } }, first.state);
    if (task === 'same') throw new Error('no task');
    const good = { id: 'app', version: 2, content, images: { 'web:1': 'sha256:a' } };
    first.set({ task, good, is_touched: true, is_mixed: true });
    expect(open(directory).state).toEqual(first.state);
    expect(open(directory).state.good).toEqual(good);
  });

  it('that is lost or makes no sense leaves the agent the id that its containers have', () => {
    const directory = tempDataDir();
    const { agent } = open(directory, randomUUID).state;
    expect(open(directory, randomUUID).state.agent).toBe(agent);
    writeFileSync(join(directory, 'state.json'), '{"task":');
    const next = open(directory, randomUUID);
    expect(next.state).toMatchObject({ agent, task: null });
    next.set({ is_touched: true });
    // As an agent before this one left it, or a disk that has lost a file.
    writeFileSync(join(directory, 'agent-id'), '\0\0');
    expect(open(directory, randomUUID).state.agent).toBe(agent);
    rmSync(join(directory, 'state.json'));
    expect(open(directory, randomUUID).state.agent).toBe(agent);
  });

  it('that makes no sense is set aside, and begins anew', () => {
    const directory = tempDataDir();
    writeFileSync(join(directory, 'state.json'), '{"task":');
    expect(open(directory).state).toMatchObject({ agent: ID, task: null, good: null });
    expect(existsSync(join(directory, 'state.json.corrupt'))).toBe(true);
  });

  it('is the old one where a crash left a new one half-written', () => {
    const directory = tempDataDir();
    open(directory).set({ is_touched: true });
    writeFileSync(join(directory, 'state.json.new'), '{"agent":"1111');
    const next = open(directory);
    expect(next.state.is_touched).toBe(true);
    next.set({ is_mixed: true });
    expect(open(directory).state).toMatchObject({ is_touched: true, is_mixed: true });
  });

  it('that the disk does not take holds meanwhile, leaves the old one whole, and is stored when the disk does', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const directory = tempDataDir();
    const file = open(directory);
    file.set({ is_touched: true });
    // In the way of the write, as a full disk is.
    mkdirSync(join(directory, 'state.json.new'));
    file.set({ is_mixed: true });
    expect(file.state.is_mixed).toBe(true);
    expect(open(directory).state).toMatchObject({ is_touched: true, is_mixed: false });
    vi.advanceTimersByTime(15_000);
    rmdirSync(join(directory, 'state.json.new'));
    vi.advanceTimersByTime(10_000);
    expect(open(directory).state).toEqual(file.state);
  });

  it('that can not be read is set aside, and begins anew', () => {
    const directory = tempDataDir();
    mkdirSync(join(directory, 'state.json'));
    const file = open(directory);
    file.set({ is_touched: true });
    expect(open(directory).state.is_touched).toBe(true);
    expect(existsSync(join(directory, 'state.json.corrupt'))).toBe(true);
  });

  it('tells of every change', () => {
    const file = open(tempDataDir());
    const seen: boolean[] = [];
    file.onChange(() => seen.push(file.state.is_mixed));
    file.set({ is_mixed: true });
    expect(seen).toEqual([true]);
  });
});
