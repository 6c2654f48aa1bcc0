import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BURST, Sampler } from './sampler.js';

/** Everything kept of messages at these times, with what comes due until `untilMs`. */
function keep(hz: number, times: readonly number[], untilMs = Number.POSITIVE_INFINITY): number[] {
  const sampler = new Sampler<number>(hz);
  const kept = times.flatMap((atMs) => sampler.offer(atMs, atMs));
  return [...kept, ...sampler.due(untilMs)];
}

const every = (periodMs: number, forMs: number, from = 0) =>
  Array.from({ length: Math.floor(forMs / periodMs) }, (_, i) => from + i * periodMs);

describe('a publisher faster than hz', () => {
  it('of 50 Hz for 20 s gives 100 ± 2 points at 5 Hz', () => {
    const count = keep(5, every(20, 20_000), 20_000).length;
    expect(count).toBeGreaterThanOrEqual(100);
    expect(count).toBeLessThanOrEqual(102);
  });

  it('gives hz points a second whatever its rate, its jitter and its phase', () => {
    const hz = fc.double({ min: 0.5, max: 50, noNaN: true });
    const faster = fc.double({ min: 1.5, max: 40, noNaN: true });
    const jitter = fc.array(fc.double({ min: 0, max: 0.9, noNaN: true }), { minLength: 50, maxLength: 50 });
    fc.assert(
      fc.property(hz, faster, jitter, (wanted, times, offsets) => {
        const periodMs = 1000 / (wanted * times);
        const forMs = Math.max(20_000, (20 * 1000) / wanted);
        const messages = every(periodMs, forMs).map((atMs, i) => atMs + (offsets[i % 50] ?? 0) * periodMs);
        const count = keep(wanted, messages, forMs).length;
        // The bucket begins with the tokens of 50 ms.
        expect(Math.abs(count - (forMs / 1000) * wanted)).toBeLessThanOrEqual(2 + wanted * 0.05);
      }),
    );
  });

  it('gives the newest message at each due time', () => {
    const kept = keep(1, every(10, 5_000, 3), 5_500);
    // Due at 3, 1003, 2003, …: the last one before each.
    expect(kept).toEqual([3, 993, 1993, 2993, 3993, 4993]);
  });
});

describe('a publisher no faster than hz', () => {
  it('loses nothing to jitter of less than a period', () => {
    const hz = fc.double({ min: 0.5, max: 1000, noNaN: true });
    const slower = fc.double({ min: 1, max: 10, noNaN: true });
    const jitter = fc.array(fc.double({ min: 0, max: 0.99, noNaN: true }), { minLength: 300, maxLength: 300 });
    fc.assert(
      fc.property(hz, slower, jitter, (wanted, times, offsets) => {
        const periodMs = (1000 / wanted) * times;
        const messages = offsets.map((offset, i) => (i + offset) * periodMs);
        expect(keep(wanted, messages)).toEqual(messages);
      }),
    );
  });

  it('loses nothing where its first message was received late, as while an agent starts', () => {
    // Every 20 ms from 0; the event loop stood still until 35.
    const messages = [35, 36, 40, 60, 80];
    expect(keep(100, messages)).toEqual(messages);
  });

  it(`is caught up with after a pause: ${BURST} messages at once are kept`, () => {
    const caughtUp = [2_000, 2_001, 2_002, 2_003, 2_004];
    const messages = [0, 200, ...caughtUp, 2_200, 2_400];
    expect(keep(5, messages)).toEqual(messages);
  });
});

it('never keeps more than the bucket holds, nor a message twice, nor out of order', () => {
  const gaps = fc.array(fc.double({ min: 0, max: 2_000, noNaN: true }), { maxLength: 300 });
  fc.assert(
    fc.property(fc.double({ min: 0.1, max: 1000, noNaN: true }), gaps, (hz, between) => {
      const messages: number[] = [];
      for (const gap of between) messages.push((messages.at(-1) ?? 0) + gap);
      const now = messages.at(-1) ?? 0;
      const sampler = new Sampler<number>(hz);
      const kept = messages.flatMap((atMs, i) => sampler.offer(i, atMs));
      expect(kept).toEqual([...new Set(kept)].sort((a, b) => a - b));
      expect(kept.length).toBeLessThanOrEqual(BURST + 1 + (now / 1000) * hz);
    }),
  );
});

it('tells of each message that it is kept or passed over, never both, but for the one that waits', () => {
  const gaps = fc.array(fc.double({ min: 0, max: 2_000, noNaN: true }), { maxLength: 300 });
  fc.assert(
    fc.property(fc.double({ min: 0.1, max: 1000, noNaN: true }), gaps, (hz, between) => {
      const passedOver: number[] = [];
      const sampler = new Sampler<number>(hz, (item) => passedOver.push(item));
      let now = 0;
      const kept = between.flatMap((gap, i) => {
        now += gap;
        return sampler.offer(i, now);
      });
      sampler.forget();
      expect([...kept, ...passedOver].sort((a, b) => a - b)).toEqual(between.map((_, i) => i));
    }),
  );
});
