import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LinkEnd, planRetry, RETRY_BASE_MS, RETRY_CAP_MS } from './retry.js';

const cut: LinkEnd = { kind: 'unreachable', reason: 'ECONNRESET' };

describe('planRetry', () => {
  it('doubles the wait from 250 ms to the cap of 10 s, and spreads it evenly from 0', () => {
    const longest = (failures: number) => planRetry(cut, failures, 1).delayMs;
    expect([1, 2, 3, 6, 7, 8, 1000].map(longest)).toEqual([250, 500, 1000, 8000, 10_000, 10_000, 10_000]);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (failures, random) => {
          const { delayMs } = planRetry(cut, failures, random);
          expect(delayMs).toBeCloseTo(random * Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** (failures - 1)), 5);
        },
      ),
    );
  });

  it.each<[LinkEnd, number, RegExp]>([
    [{ kind: 'refused', status: 401, reason: '' }, 60_000, /token/],
    [{ kind: 'refused', status: 409, reason: '' }, 300_000, /another agent/],
    [{ kind: 'closed', code: 4003, reason: '' }, 300_000, /another agent/],
    [{ kind: 'closed', code: 4002, reason: 'update the cloud' }, 60_000, /update the cloud/],
    [{ kind: 'refused', status: 301, reason: 'https://new' }, 60_000, /https:\/\/new/],
    [{ kind: 'refused', status: 404, reason: '' }, 10_000, /no Drover cloud/],
  ])('%o waits about %d ms and says why', (end, delayMs, words) => {
    const plan = planRetry(end, 1, 0.5);
    expect(plan.delayMs).toBeCloseTo(delayMs, 0);
    expect(plan.message).toMatch(words);
  });

  it('comes again when it was told to, not before and not all at once, and believes no more than a minute', () => {
    const told = (retryAfterS: number, random: number) =>
      planRetry({ kind: 'refused', status: 503, reason: '', retryAfterS }, 1, random).delayMs;
    expect([told(3, 0), told(3, 1), told(30, 0), told(30, 1)]).toEqual([3000, 4000, 30_000, 36_000]);
    expect(told(86_400, 0)).toBe(60_000);
    expect(told(0, 1)).toBe(RETRY_BASE_MS);
  });
});
