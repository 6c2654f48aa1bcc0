import { expect, it } from 'vitest';
import { AgeMarks } from './age-marks.js';

it('know the rows that are at least so old, be it seconds or days, to a hundredth of the age', () => {
  const marks = new AgeMarks();
  // A row a second for three days; its id is its second.
  const end = 3 * 24 * 3600;
  for (let second = 0; second <= end; second += 1) marks.mark(second, second * 1000);
  for (const age of [10, 60, 3600, 24 * 3600]) {
    const exact = end - age;
    const found = marks.idBefore(age * 1000, end * 1000);
    expect(found).toBeLessThanOrEqual(exact);
    expect(found).toBeGreaterThan(exact - age / 100 - 2);
  }
  expect(marks.idBefore((end + 1) * 1000, end * 1000)).toBe(0);
});

it('forget what was when the spool begins anew', () => {
  const marks = new AgeMarks();
  marks.mark(500, 0);
  marks.mark(1, 10_000);
  expect(marks.idBefore(5_000, 11_000)).toBe(0);
  expect(marks.idBefore(500, 11_000)).toBe(1);
});
