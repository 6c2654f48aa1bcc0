import { expect, it } from 'vitest';
import { Pace } from './pace.js';

const afterFirst = async () => {};

it('gives a few turns at once and the others apart, in order', async () => {
  const pace = new Pace(
    { size: 3, gapMs: 5, afterFirst },
    { now: () => performance.now(), stopped: new AbortController().signal },
  );
  const begin = performance.now();
  const turns: { n: number; atMs: number }[] = [];
  const taken = async (n: number) => {
    await pace.turn();
    turns.push({ n, atMs: performance.now() - begin });
  };
  await Promise.all([0, 1, 2, 3, 4, 5, 6].map(taken));
  expect(turns.map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  // Timers have a grain of a millisecond.
  for (const [n, { atMs }] of turns.entries()) expect(atMs).toBeGreaterThanOrEqual(Math.max(0, n - 2) * 5 - 1);
});

it('gives a turn at once after a rest', async () => {
  let nowMs = 0;
  const pace = new Pace(
    { size: 1, gapMs: 1_000_000, afterFirst },
    { now: () => nowMs, stopped: new AbortController().signal },
  );
  await pace.turn();
  nowMs = 1_000_000;
  await pace.turn();
});

it('holds back what follows the first few until those have done', async () => {
  let go = () => {};
  let asked = 0;
  const done = new Promise<void>((resolve) => {
    go = resolve;
  });
  const waitForFirst = () => {
    asked += 1;
    return done;
  };
  const options = { size: 2, gapMs: 1, afterFirst: waitForFirst };
  const pace = new Pace(options, { now: () => performance.now(), stopped: new AbortController().signal });
  const taken: number[] = [];
  const turns = [0, 1, 2, 3].map((n) => pace.turn().then(() => taken.push(n)));
  await turns[1];
  await new Promise((resolve) => setImmediate(resolve));
  expect(taken).toEqual([0, 1]);
  go();
  await Promise.all(turns);
  expect([taken, asked]).toEqual([[0, 1, 2, 3], 1]);
});

it('ends its waits with the graph', async () => {
  const stopping = new AbortController();
  const pace = new Pace({ size: 1, gapMs: 1_000_000, afterFirst }, { now: () => 0, stopped: stopping.signal });
  await pace.turn();
  const second = pace.turn();
  const third = pace.turn();
  await Promise.resolve();
  const reason = new Error('stopped');
  stopping.abort(reason);
  await expect(second).rejects.toBe(reason);
  await expect(third).rejects.toBe(reason);
});
