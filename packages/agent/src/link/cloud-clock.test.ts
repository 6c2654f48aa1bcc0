import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CloudClock } from './cloud-clock.js';
import { createMonotonicClock } from './monotonic.js';

/** A cloud whose clock is `aheadMs` ahead of the robot's monotonic one, over legs of the given length. */
function exchange(sentMs: number, aheadMs: number, upMs: number, downMs: number) {
  const cloudMs = sentMs + upMs + aheadMs;
  return { sentMs, receivedMs: sentMs + upMs + downMs, cloudReceivedMs: cloudMs, cloudSentMs: cloudMs };
}

it('knows nothing before the first exchange', () => {
  expect(
    new CloudClock(
      () => 0,
      () => 0,
    ).cloudNow(),
  ).toBeNull();
});

it('is off by no more than it says, whatever the legs of the exchanges', () => {
  const leg = fc.double({ min: 0, max: 30_000, noNaN: true });
  fc.assert(
    fc.property(fc.array(fc.tuple(leg, leg), { minLength: 1, maxLength: 30 }), fc.integer(), (legs, aheadMs) => {
      let now = 1_000;
      const clock = new CloudClock(
        () => now,
        () => 0,
      );
      for (const [up, down] of legs) {
        clock.add(exchange(now, aheadMs, up, down));
        now += up + down + 10;
        const cloud = clock.cloudNow();
        expect(Math.abs((cloud?.ms ?? 0) - (now + aheadMs))).toBeLessThanOrEqual((cloud?.uncertaintyMs ?? 0) + 1e-3);
      }
    }),
  );
});

it('keeps the best of the last eight and forgets it when it is the ninth', () => {
  let now = 0;
  const clock = new CloudClock(
    () => now,
    () => 0,
  );
  clock.add(exchange(0, 500, 1, 1));
  for (now = 10; now < 80; now += 10) clock.add(exchange(now, 500, 100, 100));
  expect(clock.cloudNow()?.uncertaintyMs).toBeLessThan(2);
  clock.add(exchange(now, 500, 100, 100));
  expect(clock.cloudNow()?.uncertaintyMs).toBeGreaterThan(99);
});

it('follows a cloud whose clock was set, and gives the offset to the wall clock of the moment', () => {
  let wall = 5_000;
  const clock = new CloudClock(
    () => 100,
    () => wall,
  );
  clock.add(exchange(90, 1_000, 1, 1));
  clock.add(exchange(95, 50_000, 5, 5));
  expect(clock.cloudNow()?.ms).toBeCloseTo(50_100);
  expect(clock.offset()?.offset_ms).toBeCloseTo(45_100);
  wall = 1_000_000;
  expect(clock.offset()?.offset_ms).toBeCloseTo(50_100 - 1_000_000);
});

it('corrects stamps by an offset that follows a better measurement slowly, so that none overtakes another', () => {
  let now = 1_000;
  const clock = new CloudClock(
    () => now,
    () => now,
  );
  // The first exchange had a slow way back.
  clock.add(exchange(now - 200, 500, 0, 200));
  const stamps = [now + (clock.offset()?.offset_ms ?? 0)];
  clock.add(exchange(now, 500, 0, 0));
  for (let n = 0; n < 200; n += 1) {
    now += 20;
    const offset = clock.offset();
    stamps.push(now + (offset?.offset_ms ?? 0));
    expect(Math.abs((offset?.offset_ms ?? 0) - 500)).toBeLessThanOrEqual(offset?.uncertainty_ms ?? 0);
  }
  for (const [at, stamp] of stamps.slice(1).entries()) expect(stamp - (stamps[at] ?? 0)).toBeGreaterThan(15);
  expect((stamps.at(-1) ?? 0) - now).toBeCloseTo(500);
});

it('asks for the time since the boot once a second where nothing tells of a suspension', () => {
  let fine = 0;
  let asked = 0;
  const boot = () => {
    asked += 1;
    return fine;
  };
  const now = createMonotonicClock(
    () => fine,
    boot,
    () => fine,
  );
  asked = 0;
  for (fine = 0; fine < 10_000; fine += 1) expect(now()).toBe(fine);
  expect(asked).toBeLessThanOrEqual(11);
});

it('counts the time a robot is suspended, within a second also where its wall clock was set back by as much', () => {
  let fine = 0;
  let boot = 0;
  const now = createMonotonicClock(
    () => fine,
    () => boot,
    () => fine,
  );
  now();
  boot += 60_000;
  fine += 1_000;
  boot += 1_000;
  expect(now()).toBeCloseTo(61_000, 0);
});

it('counts the time a robot is suspended', () => {
  let fine = 0;
  let boot = 100_000;
  const now = createMonotonicClock(
    () => fine,
    () => boot,
    () => 1_700_000_000_000 + boot,
  );
  fine += 50.5;
  boot += 40;
  expect(now()).toBeCloseTo(50.5);
  boot += 60_000;
  expect(now()).toBeCloseTo(60_040, 0);
  fine += 1_000;
  boot += 1_000;
  expect(now()).toBeCloseTo(61_040, 0);
});
