import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RclpyPeer, RclpyPublisher } from '../packages/agent/src/ros/testing/rclpy-peer.js';
import { describeRos } from '../packages/agent/src/ros/testing/ros.js';
import type { TestAgent } from './support/agent.js';
import type { TestCloud } from './support/cloud.js';
import { type OnRos, startOnRos } from './support/on-ros.js';
import type { LogLine } from './support/process.js';
import { addStream, untilStatus } from './support/streams.js';

const ROS_DOMAIN_ID = 15;
const INT64 = 'std_msgs/msg/Int64';
const CULPRIT = '/culprit';
const DOOMED = { interface: 'service', name: '/doomed', type: 'std_srvs/srv/SetBool', payload: { data: true } };
const HARMLESS = { ...DOOMED, name: '/harmless' };
const COUNTER_HZ = 50;
/** Promised are 5 s, and the test prints what it took (about 1.5 s); a machine busy with other tests is given more. */
const BACK_MS = 20_000;
/** Shorter gaps are not of an abort: the subscriptions settle. */
const GAP_MS_MIN = 500;

interface Point {
  payload: { data: number };
}

const died = ({ msg }: LogLine) => msg.startsWith('the agent died (SIGABRT)');
const connected = ({ msg }: LogLine) => msg === 'connected';

describeRos('an abort inside ROS, for real, with the agent under its supervisor', () => {
  let system: OnRos;
  let cloud: TestCloud;
  let agent: TestAgent;
  let peer: RclpyPeer;
  let culprit: RclpyPublisher;
  /** Ends when the peer stops. */
  const background: Promise<unknown>[] = [];

  beforeAll(async () => {
    system = await startOnRos({
      domainId: ROS_DOMAIN_ID,
      supervised: true,
      env: { DROVER_TEST_ABORT_ON: `${CULPRIT},${DOOMED.name}` },
    });
    ({ cloud, agent, peer } = system);
    await peer.serveSetBool(DOOMED.name);
    await peer.serveSetBool(HARMLESS.name);
    const counter = await peer.advertise({ topic: '/counter', type: INT64 });
    culprit = await peer.advertise({ topic: CULPRIT, type: INT64 });
    await addStream(cloud, '/counter', INT64, 100);
    await counter.matched();
    const counting = counter.repeat({ data: 0 }, { count: 600 * COUNTER_HZ, hz: COUNTER_HZ, counter: 'data' });
    background.push(counting.catch(() => {}));
  });

  afterAll(async () => {
    await peer?.stop();
    await Promise.all(background);
    expect(await agent?.stop()).toBe(0);
    expect(await cloud?.stop()).toBe(0);
  });

  async function counted(): Promise<number[]> {
    const values: number[] = [];
    for (let offset = 0; ; offset += 1000) {
      const page = await cloud.get<Point[]>(`/robots/rover-1/data?source=/counter&limit=1000&offset=${offset}`);
      values.push(...page.map((point) => point.payload.data));
      if (page.length < 1000) return values.sort((a, b) => a - b);
    }
  }

  /** Resolves once the cloud has a second of what the agent that runs now has counted. */
  async function counterGoesOn(): Promise<void> {
    const newest = (points: Point[]) => points[0]?.payload.data ?? 0;
    const path = '/robots/rover-1/data?source=/counter&limit=1';
    let from = newest(await cloud.get<Point[]>(path));
    from = newest(await cloud.until<Point[]>(path, (points) => newest(points) > from));
    await cloud.until<Point[]>(path, (points) => newest(points) > from + COUNTER_HZ);
  }

  /** Publishes until the agent has died of it, and waits until it is back. Returns for how long it was away, in milliseconds. */
  async function crashByMessage(): Promise<number> {
    const since = agent.process.lines.length;
    const dying = agent.process.line(died, since).then(() => Date.now());
    let isDead = false;
    void dying.then(() => {
      isDead = true;
    });
    while (!isDead) {
      await culprit.publish({ data: 1 });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return await backAfter(await dying, since);
  }

  /** So that its crashes are the first ones again, after which there is no pause. */
  async function restartCleanly(): Promise<void> {
    expect(await agent.process.stop()).toBe(0);
    await agent.restart();
    await agent.process.line(connected);
    await cloud.online('rover-1');
  }

  async function backAfter(diedMs: number, since: number): Promise<number> {
    const line = await agent.process.line(
      connected,
      agent.process.lines.findIndex((l, n) => n >= since && died(l)),
    );
    await cloud.online('rover-1');
    return Number(line.time) - diedMs;
  }

  it('the link is back within 5 s, other streams go on, and the third time the culprit is quarantined', async () => {
    await counterGoesOn();
    await addStream(cloud, CULPRIT, INT64, 10);
    await untilStatus(cloud, CULPRIT, ({ state }) => state === 'waiting');
    const awayMs: number[] = [];
    for (let crash = 1; crash <= 3; crash += 1) {
      awayMs.push(await crashByMessage());
      await counterGoesOn();
    }
    const { message } = await untilStatus(cloud, CULPRIT, ({ state }) => state === 'quarantined');
    expect(message).toMatch(/^the subscription \/culprit is quarantined since .*Z: the agent died 3 times/);

    const since = agent.process.lines.length;
    for (let n = 0; n < 20; n += 1) await culprit.publish({ data: 2 });
    await counterGoesOn();
    expect(await cloud.run('rover-1', HARMLESS)).toMatchObject({ state: 'executed' });
    expect(agent.process.lines.slice(since).filter(died)).toEqual([]);

    const values = await counted();
    const missing = values.slice(1).map((value, n) => value - (values[n] ?? 0) - 1);
    const gapsMs = missing.map((count) => (count / COUNTER_HZ) * 1000).filter((ms) => ms >= GAP_MS_MIN);
    console.log(`back after ${awayMs.join(', ')} ms; gaps in the counter of ${gapsMs.join(', ')} ms`);
    expect(new Set(values).size).toBe(values.length);
    for (const ms of [...awayMs, ...gapsMs]) expect(ms).toBeLessThan(BACK_MS);
    expect(gapsMs.length).toBeLessThanOrEqual(3);
  }, 120_000);

  it('the culprit is tried again once its stream was disabled and enabled; one that crashes at once is soon quarantined', async () => {
    const change = (enabled: boolean) => cloud.call('PATCH', '/robots/rover-1/%2Fculprit', { enabled, hz: 10 });
    await change(false);
    await agent.process.line(({ msg }) => msg === 'quarantine lifted');
    await change(true);
    await untilStatus(cloud, CULPRIT, ({ state }) => state === 'waiting' || state === 'receiving');
    await restartCleanly();

    const since = agent.process.lines.length;
    const publishing = culprit.repeat({ data: 3 }, { count: 600 * 20, hz: 20 }).catch(() => {});
    await agent.process.line(died, since);
    const diedMs = Date.now();
    const { time } = await agent.process.line(({ msg }) => msg.startsWith('source quarantined'), since);
    await untilStatus(cloud, CULPRIT, ({ state }) => state === 'quarantined');
    await counterGoesOn();
    console.log(`quarantined ${Number(time) - diedMs} ms after the first of three crashes in a row`);
    expect(agent.process.lines.slice(since).filter(died)).toHaveLength(3);
    await change(false);
    background.push(publishing);
  }, 60_000);

  it('a call under way at the abort is told as unknown and never made again; the third time its service is quarantined', async () => {
    await restartCleanly();
    for (let crash = 1; crash <= 3; crash += 1) {
      const since = agent.process.lines.length;
      const dying = agent.process.line(died, since).then(() => Date.now());
      const outcome = cloud.run('rover-1', DOOMED);
      expect(await backAfter(await dying, since)).toBeLessThan(BACK_MS);
      expect(await outcome).toMatchObject({ state: 'error', error_code: 'outcome_unknown' });
      expect(await peer.callsAsked(DOOMED.name)).toBe(crash);
    }
    expect(await cloud.run('rover-1', DOOMED)).toMatchObject({
      error_code: 'internal_error',
      error_message: expect.stringMatching(
        /^the service \/doomed is quarantined since .*stop the agent and start it again/,
      ),
    });
    expect(await peer.callsAsked(DOOMED.name)).toBe(3);
    expect(await cloud.run('rover-1', HARMLESS)).toMatchObject({ state: 'executed' });
  }, 60_000);

  it('a clean stop and start lifts what is quarantined', async () => {
    await restartCleanly();
    const since = agent.process.lines.length;
    const dying = agent.process.line(died, since);
    expect(await cloud.run('rover-1', DOOMED)).toMatchObject({ error_code: 'outcome_unknown' });
    await dying;
    expect(await peer.callsAsked(DOOMED.name)).toBe(4);
  }, 60_000);
});
