import { expect, it } from 'vitest';
import { RateMeter } from './rate-meter.js';

it('tells nothing for a second, then the rate so far, then that of the last ten seconds', () => {
  const meter = new RateMeter();
  expect(meter.read(0, 0)).toBeNull();
  expect(meter.read(9, 900)).toBeNull();
  expect(meter.read(10, 1_000)).toBe(10);
  for (let ms = 1_250; ms <= 20_000; ms += 250) meter.read(ms / 100, ms);
  expect(meter.read(200, 20_000)).toBe(10);
  // Silence.
  for (let ms = 20_250; ms <= 40_000; ms += 250) meter.read(200, ms);
  expect(meter.read(200, 40_000)).toBe(0);
});

it('begins anew with a counter that does', () => {
  const meter = new RateMeter();
  meter.read(0, 0);
  meter.read(1_000, 5_000);
  expect(meter.read(3, 6_000)).toBeNull();
  expect(meter.read(13, 8_000)).toBe(5);
});
