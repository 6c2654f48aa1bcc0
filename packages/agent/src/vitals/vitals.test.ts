import { cpus } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempDataDir } from '../spool/fixture.js';
import { setUpCollecting } from '../streams/fixture.js';
import { type SystemLoad, systemLoadMeter } from './system-load.js';
import { Vitals } from './vitals.js';

async function setUp(measure: () => Promise<SystemLoad> = async () => ({ cpu: 12.5, ram: 140, disk: -3 })) {
  const parts = await setUpCollecting();
  const vitals = new Vitals({ ...parts.deps, batteryTopic: '/battery_state', measure });
  onTestFinished(() => vitals.stop());
  const battery = await parts.peer.advertise({ topic: '/battery_state', type: 'sensor_msgs/msg/BatteryState' });
  return { ...parts, vitals, battery };
}

describe('vitals', () => {
  it('are sampled at the period, clamped to 0..100, the battery -1 while nothing is known of it', async () => {
    const { vitals, samples, until } = await setUp();
    vitals.apply({ enabled: true, period_s: 0.05 });
    await until(() => samples.length >= 3);
    expect(samples[0]).toMatchObject({ kind: 'vital', cpu: 12.5, ram: 100, disk: 0, battery: -1 });
  });

  it.each<[unknown, number]>([
    [0.875, 87.5],
    ['NaN', -1],
    [1.3, 100],
  ])('take the battery of a BatteryState of ratio %s as %d', async (percentage, expected) => {
    const { vitals, samples, battery, until } = await setUp();
    vitals.apply({ enabled: true, period_s: 0.05 });
    await battery.matched();
    await battery.publish({ percentage: 0.5 });
    await until(() => samples.some((sample) => sample.kind === 'vital' && sample.battery === 50));
    await battery.publish({ percentage });
    await until(() => samples.some((sample) => sample.kind === 'vital' && Math.abs(sample.battery - expected) < 0.01));
  });

  it('stop when disabled, and go on when what measures them fails once', async () => {
    let calls = 0;
    const { vitals, samples, until } = await setUp(async () => {
      calls += 1;
      if (calls === 1) throw new RangeError('no /proc');
      return { cpu: 1, ram: 1, disk: 1 };
    });
    vitals.apply({ enabled: true, period_s: 0.02 });
    await until(() => samples.length >= 2);
    vitals.apply({ enabled: false, period_s: 0.02 });
    const count = samples.length;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(samples).toHaveLength(count);
  });
});

it('the load of this computer is in percent, its CPU since the measurement before', async () => {
  const measure = systemLoadMeter(tempDataDir());
  await measure();
  const until = performance.now() + 300;
  while (performance.now() < until);
  const load = await measure();
  for (const value of Object.values(load)) {
    expect(value).toBeGreaterThanOrEqual(0);
    expect(value).toBeLessThanOrEqual(100);
  }
  // One processor was busy for all of it.
  expect(load.cpu).toBeGreaterThan(50 / cpus().length);
  expect(load.ram).toBeGreaterThan(0);
});
