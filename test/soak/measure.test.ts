import { expect, it } from 'vitest';
import { footprint, leastOf, slopeOf } from './measure.js';

it('finds the slope of what only grows, and none in what swings about a level', () => {
  expect(slopeOf([1, 1.5, 2, 2.5])).toBeCloseTo(0.5);
  expect(slopeOf([1, 3, 3, 1])).toBeCloseTo(0);
});

it('takes the least of a window, each figure by itself', () => {
  const samples = [
    { rssMiB: 90, descriptors: 31 },
    { rssMiB: 84, descriptors: 33 },
  ];
  expect(leastOf(samples)).toEqual({ rssMiB: 84, descriptors: 31 });
});

it('sees the memory and the descriptors of a running process', () => {
  const { rssMiB, descriptors } = footprint(process.pid);
  expect(rssMiB).toBeGreaterThan(10);
  expect(descriptors).toBeGreaterThan(3);
});
