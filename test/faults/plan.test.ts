import { expect, it } from 'vitest';
import { isOf, planOf, STORM_MS } from './plan.js';

const seeds = Array.from({ length: 200 }, (_, at) => at + 1);

it('a seed gives the same plan each time, another seed another', () => {
  expect(planOf(17)).toEqual(planOf(17));
  expect(planOf(17)).not.toEqual(planOf(18));
});

it('each round has several faults, a kill -9 among them, and all end in time', () => {
  for (const seed of seeds) {
    const { faults } = planOf(seed);
    expect(faults.length).toBeGreaterThanOrEqual(3);
    expect(faults.map(({ kind }) => kind)).toContain('kill');
    for (const { kind, atMs, forMs } of faults) if (kind !== 'kill') expect(atMs + forMs).toBeLessThanOrEqual(STORM_MS);
  }
});

it('two hundred rounds have every kind of fault, on every process and every link', () => {
  const faults = seeds.flatMap((seed) => planOf(seed).faults);
  const kinds = ['kill', 'freeze', 'cut', 'stall', 'forget', 'one_way', 'half_open', 'slow', 'delay', 'clock'];
  const processes = ['cloud', 'robot-0', 'robot-1', 'robot-2'];
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(kinds));
  for (const kind of ['kill', 'freeze']) {
    const targets = faults.filter((fault) => fault.kind === kind).map(({ target }) => target);
    expect([...new Set(targets)].sort()).toEqual(processes);
  }
});

it('the faults of one process or link do not overlap', () => {
  for (const seed of seeds) {
    const ends = new Map<string, number>();
    for (const { target, atMs, forMs } of planOf(seed).faults) {
      expect(atMs).toBeGreaterThan(ends.get(target) ?? -1);
      ends.set(target, atMs + forMs);
    }
  }
});

it('commands have numbers of their own', () => {
  const ids = seeds.flatMap((seed) => planOf(seed).commands.map(({ id }) => id));
  expect(new Set(ids).size).toBe(ids.length);
  expect(planOf(3).commands.every(({ id }) => isOf(3, id) && !isOf(4, id))).toBe(true);
});
