import type { Robot } from '@drover/shared/api/robots';
import { expect, it, onTestFinished } from 'vitest';
import { Fleet } from './fleet.js';
import { type Line, openLine, startCloud } from './line.js';
import { cpuSeconds, histogram, quantile, report } from './measure.js';

/** `npm run network` shows it with 500. */
const ROBOTS = Number(process.env.DROVER_TEST_ROBOTS ?? 60);
/** So long no robot can be reached; longer than it takes both sides to notice. */
const OUTAGE_S = Number(process.env.DROVER_TEST_OUTAGE_S ?? 24);
const OFFLINE_WITHIN_MS = 25_000;
const ONLINE_WITHIN_MS = 15_000;

it(`${ROBOTS} robots lose the network at one moment: offline within 25 s; online within 15 s of its return, and others are not delayed`, async () => {
  const cloud = await startCloud();
  const line = await openLine(cloud);
  const tokens = [];
  for (let n = 0; n < ROBOTS; n += 1) tokens.push(await cloud.register(`rover-${n}`));
  const direct: Line = { ...line, url: cloud.url, within: [] };
  const steady = new Fleet(direct, [await cloud.register('steady')]);
  const fleet = new Fleet(line, tokens);
  onTestFinished(async () => {
    await line.mend();
    await Promise.all([fleet.stop(), steady.stop()]);
    await line.close();
    await cloud.stop();
  });
  const rovers = async () => (await cloud.get<Robot[]>('/robots')).filter(({ id }) => id !== 'steady');
  const all = async (online: boolean) => (await rovers()).filter((robot) => robot.online === online).length === ROBOTS;
  const changesSince = async (sinceMs: number) =>
    (await rovers()).map((robot) => Date.parse(robot.online_updated_at) - sinceMs);
  await expect.poll(() => all(true), { timeout: 60_000, interval: 500 }).toBe(true);
  await cloud.online('steady');

  // What another robot's commands take all the while.
  const latencies: { at: number; ms: number }[] = [];
  let going = true;
  const commanding = (async () => {
    while (going) {
      const at = Date.now();
      const ended = await cloud.run('steady', {
        interface: 'topic',
        name: '/a',
        type: 'std_msgs/msg/Empty',
        payload: {},
      });
      expect(ended.state).toBe('executed');
      latencies.push({ at, ms: Date.now() - at });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();

  await line.cut();
  const cutMs = Date.now();
  await expect.poll(() => all(false), { timeout: 60_000, interval: 500 }).toBe(true);
  const offlineAfter = await changesSince(cutMs);
  expect(Math.max(...offlineAfter)).toBeLessThan(OFFLINE_WITHIN_MS);
  const leftMs = cutMs + OUTAGE_S * 1000 - Date.now();
  if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));

  const cpuBefore = cpuSeconds(cloud.process.pid);
  await line.mend();
  const mendMs = Date.now();
  await expect.poll(() => all(true), { timeout: 60_000, interval: 500 }).toBe(true);
  const cpuS = cpuSeconds(cloud.process.pid) - cpuBefore;
  const onlineAfter = await changesSince(mendMs);
  going = false;
  await commanding;
  const during = latencies.filter(({ at }) => at >= mendMs).map(({ ms }) => ms);
  report(`storm of ${ROBOTS} robots`, {
    offline_after_ms: { median: quantile(offlineAfter, 0.5), max: Math.max(...offlineAfter) },
    online_after_ms: { median: quantile(onlineAfter, 0.5), max: Math.max(...onlineAfter) },
    attempts_a_second: histogram(fleet.attemptsSince(mendMs), mendMs, 1_000, 15),
    sessions_a_second: histogram(fleet.openedSince(mendMs), mendMs, 1_000, 15),
    cloud_cpu_ms_a_robot: Math.round((cpuS * 1000 * 10) / ROBOTS) / 10,
    others_commands_ms: { median: quantile(during, 0.5), p99: quantile(during, 0.99), count: during.length },
  });
  expect(Math.max(...onlineAfter)).toBeLessThan(ONLINE_WITHIN_MS);
  // Each was executed, so none waited for the five seconds of a command's life.
  expect(quantile(during, 0.99)).toBeLessThan(5_000);
}, 180_000);
