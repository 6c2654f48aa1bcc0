import type { RobotLink } from '@drover/shared/api/link';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';
import { describeFakeTime, FakeTime } from './support/fake-time.js';
import { LinkProxy } from './support/link-proxy.js';
import { storedStamps } from './support/stored.js';

const DAY_MS = 24 * 3_600_000;
/** A batch travels and is stored within this, or the clocks of test and cloud would tell nothing. */
const LATE_MS_MAX = 30_000;
const TRIGGER = { interface: 'service', name: '/reset_odometry', type: 'std_srvs/srv/Trigger', payload: {} };

interface Point {
  stamp: string;
  payload: { data: number };
}

describeFakeTime('a robot whose clock is wrong', () => {
  let cloud: TestCloud;
  let proxy: LinkProxy;
  const agents: { agent: TestAgent; time: FakeTime }[] = [];

  beforeEach(async () => {
    cloud = await TestCloud.start();
    proxy = await LinkProxy.start(cloud.url);
  });

  afterEach(async () => {
    for (const { agent, time } of agents.splice(0)) {
      await agent.stop();
      time.remove();
    }
    await proxy.stop();
    await cloud.stop();
  });

  /** A robot that counts, with at least some of it recorded. */
  async function robot(id: string, offset: string) {
    const time = new FakeTime(offset);
    const agent = await TestAgent.start({ url: proxy.url, token: await cloud.register(id), env: time.env });
    agents.push({ agent, time });
    await cloud.online(id);
    await cloud.call('POST', `/robots/${id}/streams`, { source: '/counter', type: 'std_msgs/msg/Int64', hz: 100 });
    await recorded(id, 50);
    return { agent, time };
  }

  const recorded = (id: string, count: number) =>
    cloud.until<{ num_recordings: number }[]>(
      `/robots/${id}/streams`,
      ([stream]) => (stream?.num_recordings ?? 0) >= count,
    );
  const link = (id: string) => cloud.get<RobotLink>(`/robots/${id}/link`);
  const points = (id: string, query: string) =>
    cloud.get<Point[]>(`/robots/${id}/data?source=/counter&limit=1000${query}`);

  it.each([
    ['in the past', '-1000d', -1000],
    ['in the future', '+1000d', 1000],
  ])(
    'years %s delivers all the same: stamps and from/to are right, and no command is late',
    async (_what, offset, days) => {
      const startedMs = Date.now();
      await robot('rover-1', offset);
      expect((await link('rover-1')).clock?.offset_ms).toBeGreaterThan(-days * DAY_MS - 10_000);
      expect((await link('rover-1')).clock?.offset_ms).toBeLessThan(-days * DAY_MS + 10_000);
      const { clock } = await link('rover-1');
      expect(clock?.uncertainty_ms).toBeLessThan(5_000);
      expect(Math.abs(Date.parse(clock?.measured_at ?? '') - Date.now())).toBeLessThan(LATE_MS_MAX);

      const all = (await points('rover-1', '')).reverse();
      const at = (index: number) => all.at(index)?.stamp ?? '';
      expect(Date.parse(at(0))).toBeGreaterThan(startedMs);
      expect(Date.parse(at(-1))).toBeLessThanOrEqual(Date.now() + 1_000);
      const between = await points('rover-1', `&from=${at(9)}&to=${at(30)}`);
      expect(between.reverse().map(({ payload }) => payload.data)).toEqual(
        all.slice(10, 30).map(({ payload }) => payload.data),
      );
      for (const { stampMs, robotStampMs, receivedMs } of storedStamps(cloud.dataDir, '/counter')) {
        expect(Math.abs((robotStampMs ?? 0) - stampMs - days * DAY_MS)).toBeLessThan(10_000);
        expect(Math.abs(receivedMs - stampMs)).toBeLessThan(LATE_MS_MAX);
      }

      expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
      proxy.stall();
      const { body } = await cloud.call<{ uuid: string }>('POST', '/robots/rover-1/commands', TRIGGER);
      // It is on the socket already, and its life of 5 s is over when the robot gets it.
      await new Promise((resolve) => setTimeout(resolve, 6_000));
      proxy.mend();
      expect(await cloud.outcome(body.uuid)).toMatchObject({ state: 'error', error_code: 'expired' });
      const waiting = await cloud.run('rover-1', { ...TRIGGER, ttl_s: 60 });
      expect(waiting).toMatchObject({ state: 'executed' });
      expect(Math.abs(Date.parse(waiting.finished_at ?? '') - Date.now())).toBeLessThan(LATE_MS_MAX);
      const resets = await cloud.until<{ msg: string }[]>(
        '/robots/rover-1/logs?source=/rosout&limit=1000',
        (records) => {
          return records.filter(({ msg }) => msg === 'odometry reset').length >= 2;
        },
      );
      expect(resets.filter(({ msg }) => msg === 'odometry reset')).toHaveLength(2);
    },
  );

  it('that is set while it works, forth and back, offline and online: nothing lost, doubled or out of order', async () => {
    const startedMs = Date.now();
    const { agent, time } = await robot('rover-1', '-1000d');
    proxy.cut();
    await cloud.online('rover-1', false);
    // Collected in the dark, by each of three clocks.
    const clocks = ['+2h', '-3h'];
    for (const offset of clocks) {
      time.set(offset);
      await new Promise((resolve) => setTimeout(resolve, 2_500));
    }
    const before = (await points('rover-1', '')).length;
    proxy.mend();
    await cloud.online('rover-1');
    await recorded('rover-1', before + 250);
    time.set('+0');
    await cloud.until<RobotLink>('/robots/rover-1/link', ({ clock }) => Math.abs(clock?.offset_ms ?? 1e9) < 1_000);
    const now = (await points('rover-1', '')).length;
    await recorded('rover-1', now + 50);
    const seen = agent.process.lines.length;
    await cloud.call('PATCH', '/robots/rover-1/%2Fcounter', { enabled: false, hz: 100 });
    await agent.process.line((line) => /stream stops/.test(line.msg), seen);
    await cloud.until<RobotLink>('/robots/rover-1/link', ({ spool }) => (spool?.rows ?? 1e9) < 20);

    const stored = storedStamps(cloud.dataDir, '/counter');
    const first = stored[0]?.count ?? 0;
    // By stamp, as the API reads: each once and in the order in which it was counted.
    expect(stored.map(({ count }) => count)).toEqual(stored.map((_, index) => first + index));
    expect(Math.min(...stored.map(({ stampMs }) => stampMs))).toBeGreaterThan(startedMs);
    expect(Math.max(...stored.map(({ stampMs }) => stampMs))).toBeLessThanOrEqual(Date.now() + 1_000);
    const ownHours = new Set(
      stored.map(({ stampMs, robotStampMs }) => Math.round(((robotStampMs ?? stampMs) - stampMs) / 3_600_000)),
    );
    expect(ownHours).toEqual(new Set([-24_000, 2, -3, 0]));
  });
});
