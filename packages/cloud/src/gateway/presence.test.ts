import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { Presence } from './presence.js';

describe('presence, where the store refuses a write', () => {
  let presence: Presence | undefined;
  afterEach(() => presence?.stop());

  /** A store that fails `failures` times, and a promise of the `count`th write it took. */
  function refusing(failures: number) {
    const taken: [number, boolean, number][] = [];
    let wake = () => {};
    let left = failures;
    const store = {
      onlineKeys: async () => [],
      setOnline: async (...change: [number, boolean, number]) => {
        if (left > 0) {
          left -= 1;
          throw new RangeError('disk full');
        }
        taken.push(change);
        wake();
      },
    };
    const until = async (count: number) => {
      while (taken.length < count) await new Promise<void>((resolve) => (wake = resolve));
    };
    return { store, taken, until };
  }

  it('writes the change again until it is stored, at the time it happened', async () => {
    const { store, taken, until } = refusing(3);
    let nowMs = 1_000;
    presence = new Presence({ store, log: pino({ level: 'silent' }), now: () => nowMs, retryMs: 1 });
    presence.opened(7);
    nowMs = 9_000;
    await until(1);
    expect(taken).toEqual([[7, true, 1_000]]);
  });

  it('does not bring back a change that a later one has overtaken', async () => {
    const { store, taken, until } = refusing(2);
    presence = new Presence({ store, log: pino({ level: 'silent' }), now: () => 1_000, retryMs: 1 });
    presence.opened(7);
    presence.opened(8);
    presence.closed(7, 'clean');
    // The second is written by the round that would bring the first one back, after it.
    await until(2);
    expect(taken).toEqual([
      [7, false, 1_000],
      [8, true, 1_000],
    ]);
  });
});
