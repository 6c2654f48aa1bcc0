import { expect, it } from 'vitest';
import { Pace, type PaceOptions } from './pace.js';

/** A pace on a clock that stands still but for its sleeps. */
function setUp(options: Pick<PaceOptions, 'size' | 'windowMs'> & Partial<PaceOptions>) {
  const clock = { ms: 0 };
  const sleep = async (ms: number) => {
    clock.ms += ms;
  };
  const pace = new Pace({ afterFirst: async () => {}, now: () => clock.ms, sleep, ...options });
  return { clock, pace };
}

it('gives a few turns at once and as many again after the window, in order', async () => {
  const { clock, pace } = setUp({ size: 3, windowMs: 15 });
  const turns: [number, number][] = [];
  await Promise.all([0, 1, 2, 3, 4, 5].map((n) => pace.turn().then(() => turns.push([n, clock.ms]))));
  expect(turns).toEqual([
    [0, 0],
    [1, 0],
    [2, 0],
    [3, 15],
    [4, 15],
    [5, 15],
  ]);
});

it('gives turns at once again after a rest', async () => {
  const { clock, pace } = setUp({ size: 2, windowMs: 20 });
  for (let turn = 0; turn < 4; turn += 1) await pace.turn();
  expect(clock.ms).toBe(20);
  clock.ms += 20;
  await pace.turn();
  await pace.turn();
  expect(clock.ms).toBe(40);
});

it('never holds back turns that are asked for no faster than they are given', async () => {
  const { clock, pace } = setUp({ size: 2, windowMs: 20 });
  for (let turn = 0; turn < 10; turn += 1) {
    await pace.turn();
    expect(clock.ms).toBe(turn * 10);
    clock.ms += 10;
  }
});

it('never gives more than twice as many in less than twice the window, whenever and however fast they are asked for', async () => {
  const { clock, pace } = setUp({ size: 5, windowMs: 14 });
  const given: number[] = [];
  for (let turn = 0; turn < 500; turn += 1) {
    // Rests of all lengths, between bursts of all lengths.
    if ((turn * 7) % 11 < 3) clock.ms += (turn * 13) % 17;
    await pace.turn();
    given.push(clock.ms);
  }
  for (const [at, ms] of given.entries())
    expect((given[at + 10] ?? Number.POSITIVE_INFINITY) - ms).toBeGreaterThanOrEqual(28);
});

it('sleeps again where a timer was early', async () => {
  const clock = { ms: 0 };
  const sleep = async (ms: number) => {
    clock.ms += Math.max(ms - 0.7, 0.5);
  };
  const { pace } = setUp({ size: 1, windowMs: 10, now: () => clock.ms, sleep });
  await pace.turn();
  await pace.turn();
  expect(clock.ms).toBeGreaterThanOrEqual(10);
});

it('holds back what follows the first few until those have done', async () => {
  let go = () => {};
  let asked = 0;
  const done = new Promise<void>((resolve) => {
    go = resolve;
  });
  const afterFirst = () => {
    asked += 1;
    return done;
  };
  const { pace } = setUp({ size: 2, windowMs: 2, afterFirst });
  const taken: number[] = [];
  const turns = [0, 1, 2, 3].map((n) => pace.turn().then(() => taken.push(n)));
  await turns[1];
  await new Promise((resolve) => setImmediate(resolve));
  expect(taken).toEqual([0, 1]);
  go();
  await Promise.all(turns);
  expect([taken, asked]).toEqual([[0, 1, 2, 3], 1]);
});

it('rejects the turns whose wait is ended, each', async () => {
  const reason = new Error('stopped');
  const { pace } = setUp({ size: 1, windowMs: 10, sleep: () => Promise.reject(reason) });
  await pace.turn();
  const waiting = [pace.turn(), pace.turn()];
  for (const turn of waiting) await expect(turn).rejects.toBe(reason);
});
