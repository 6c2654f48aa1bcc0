import { expect, it } from 'vitest';
import { every } from './clock.js';
import { ManualClock } from './manual-clock.fixture.js';

it('ticks at multiples of the period, whatever the ticks before took', async () => {
  const clock = new ManualClock();
  const ticks: number[] = [];
  every(clock, 20, () => {
    ticks.push(clock.monotonicMs());
    clock.block(7);
  });
  await clock.advance(100);
  expect(ticks).toEqual([20, 40, 60, 80, 100]);
});

it('skips what a blocked process missed and stays in step', async () => {
  const clock = new ManualClock();
  const ticks: [number, number][] = [];
  every(clock, 20, (elapsedMs) => {
    ticks.push([clock.monotonicMs(), elapsedMs]);
  });
  await clock.advance(20);
  clock.block(65);
  await clock.advance(35);
  expect(ticks).toEqual([
    [20, 20],
    [85, 65],
    [100, 15],
    [120, 20],
  ]);
});

it('keeps its period when the wall clock jumps', async () => {
  const clock = new ManualClock();
  let ticks = 0;
  every(clock, 20, () => {
    ticks += 1;
  });
  clock.epochMs -= 3_600_000;
  await clock.advance(100);
  expect(ticks).toBe(5);
});

it('ends within its own tick', async () => {
  const clock = new ManualClock();
  let ticks = 0;
  const end = every(clock, 20, () => {
    ticks += 1;
    end();
  });
  await clock.advance(100);
  expect(ticks).toBe(1);
});
