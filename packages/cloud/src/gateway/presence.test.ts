import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Presence, type PresenceChange } from './presence.js';

let nowMs: number;
let monotonicMs: number;
let presence: Presence | undefined;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate'] });
  nowMs = 1_000;
  monotonicMs = 0;
});
afterEach(async () => {
  await presence?.stop();
  vi.useRealTimers();
});

/** Presence on a store that fails `failures` times, with every transaction the store took. */
function start(options: { failures?: number; remembered?: number[] } = {}) {
  const taken: [number, boolean, number][][] = [];
  let left = options.failures ?? 0;
  const store = {
    onlineKeys: async () => options.remembered ?? [],
    setOnline: async (changes: readonly PresenceChange[]) => {
      left -= 1;
      if (left >= 0) throw new RangeError('disk full');
      taken.push(changes.map(({ robotKey, online, atMs }) => [robotKey, online, atMs]));
    },
  };
  const clocks = { now: () => nowMs, monotonicNow: () => monotonicMs };
  const unstored = new Map<number, PresenceChange>();
  presence = new Presence({ store, unstored, log: pino({ level: 'silent' }), ...clocks });
  return { presence, taken, unstored };
}

async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    const step = Math.min(left, 100);
    nowMs += step;
    monotonicMs += step;
    await vi.advanceTimersByTimeAsync(step);
  }
}

describe('presence', () => {
  it('stores what happens to many robots at once in few transactions', async () => {
    const { presence, taken } = start();
    for (let robot = 1; robot <= 1_200; robot += 1) presence.opened(robot);
    await pass(1_000);
    expect(taken.map((changes) => changes.length)).toEqual([500, 500, 200]);
    expect(taken.flat().slice(0, 2)).toEqual([
      [1, true, 1_000],
      [2, true, 1_000],
    ]);
  });

  it('counts a clean close at once, a reset after 3 s, and one that is back by then not at all', async () => {
    const { presence, taken } = start();
    presence.opened(7);
    await pass(500);
    presence.closed(7, 'reset');
    await pass(2_900);
    presence.opened(7);
    await pass(60_000);
    expect(taken.flat().filter(([, online]) => !online)).toEqual([]);
    presence.closed(7, 'reset');
    await pass(4_000);
    expect(taken.flat().at(-1)).toEqual([7, false, 1_000 + 500 + 2_900 + 60_000 + 3_000]);
    presence.opened(7);
    await pass(200);
    presence.closed(7, 'clean');
    await pass(200);
    expect(taken.flat().at(-1)?.[1]).toBe(false);
  });

  it('changes nothing for a robot that comes and goes every few seconds, and loses nobody for longer than 25 s', async () => {
    const { presence, taken } = start();
    // Away for 5 s, back for 5 s, for ten minutes.
    for (let round = 0; round < 60; round += 1) {
      presence.opened(7);
      await pass(5_000);
      presence.closed(7, 'reset');
      await pass(5_000);
    }
    const flips = taken.flat().map(([, online]) => online);
    // Online, once away before it is known to flap, and back.
    expect(flips.filter((online, at) => online !== flips[at - 1])).toEqual([true, false, true]);
    await pass(20_000);
    expect(taken.flat().at(-1)?.[1]).toBe(false);
    // A minute without a loss, and it is a robot like any other.
    presence.opened(7);
    await pass(60_000);
    presence.closed(7, 'reset');
    await pass(3_200);
    expect(taken.flat().at(-1)?.[1]).toBe(false);
  });

  it('forgets old losses though the cloud’s clock was set back by years since', async () => {
    const { presence, taken } = start();
    for (const robot of [7, 8]) presence.opened(robot);
    for (const robot of [7, 8]) presence.closed(robot, 'reset');
    nowMs -= 3 * 365 * 24 * 3_600_000;
    await pass(3_600_000);
    presence.opened(8);
    await pass(1_000);
    presence.closed(8, 'reset');
    await pass(3_200);
    expect(taken.flat().at(-1)).toMatchObject([8, false, expect.any(Number)]);
  });

  it('after a start, leaves alone who comes back, and settles who does not', async () => {
    const { presence, taken } = start({ remembered: [7, 8] });
    await presence.start();
    await pass(15_000);
    presence.opened(7);
    await pass(10_000);
    expect(taken.flat()).toEqual([
      [7, true, 16_000],
      [8, false, 21_000],
    ]);
  });

  it('after a start, has more patience with robots that it keeps waiting or told to come later, and with no others', async () => {
    const { presence, taken } = start({ remembered: [1, 2, 3, 4] });
    await presence.start();
    await pass(5_000);
    // At 5 s + 40 s + a fifth of it at the latest; then an attempt takes up to 10 s.
    presence.comes(1, 40_000);
    presence.comes(2, 40_000);
    await pass(13_000);
    presence.comes(3);
    await pass(20_000);
    expect(taken.flat()).toEqual([
      [4, false, 21_000],
      [3, false, 29_000],
    ]);
    // A robot that nobody remembers is none of ours.
    presence.comes(99, 40_000);
    presence.opened(1);
    await pass(60_000);
    expect(taken.flat().slice(2)).toEqual([
      [1, true, 39_000],
      [2, false, 64_000],
    ]);
  });

  it('after a start, waits on while robots come back each second, for a minute at most', async () => {
    const remembered = Array.from({ length: 200 }, (_, at) => at);
    const { presence, taken } = start({ remembered });
    await presence.start();
    for (let robot = 0; robot < 60; robot += 1) {
      presence.opened(robot);
      await pass(500);
    }
    const lost = () => taken.flat().filter(([, online]) => !online);
    expect(lost()).toEqual([]);
    await pass(2_000);
    expect(lost()).toHaveLength(140);
    await presence.stop();

    const { presence: again, taken: then } = start({ remembered });
    await again.start();
    for (let robot = 0; robot < 130; robot += 1) {
      again.opened(robot);
      await pass(500);
    }
    expect(then.flat().filter(([robot, online]) => robot >= 150 && !online)).toHaveLength(50);
  });

  it('stores what has happened before it stops', async () => {
    const { presence, taken } = start();
    presence.opened(7);
    const stopped = presence.stop();
    await pass(10);
    await stopped;
    expect(taken).toEqual([[[7, true, 1_000]]]);
  });

  it('writes a change again until it is stored, at the time it happened', async () => {
    const { presence, taken } = start({ failures: 3 });
    presence.opened(7);
    await pass(10_000);
    expect(taken).toEqual([[[7, true, 1_000]]]);
  });

  it('gives out what the store refuses, the newest of each robot, until it is stored', async () => {
    const { presence, unstored } = start({ failures: 3 });
    presence.opened(7);
    await pass(1_000);
    presence.closed(7, 'clean');
    await pass(1_000);
    expect([...unstored.values()]).toEqual([{ robotKey: 7, online: false, atMs: 2_000 }]);
    await pass(10_000);
    expect(unstored.size).toBe(0);
  });

  it('does not bring back a change that a later one has overtaken', async () => {
    const { presence, taken } = start({ failures: 1 });
    presence.opened(7);
    presence.opened(8);
    await pass(1_000);
    presence.closed(7, 'clean');
    await pass(5_000);
    expect(taken.flat()).toEqual([
      [7, false, 2_000],
      [8, true, 1_000],
    ]);
  });
});
