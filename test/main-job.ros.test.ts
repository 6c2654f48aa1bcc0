import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RclpyPeer } from '../packages/agent/src/ros/testing/rclpy-peer.js';
import { describeRos } from '../packages/agent/src/ros/testing/ros.js';
import type { TestAgent } from './support/agent.js';
import type { TestCloud } from './support/cloud.js';
import { type OnRos, startOnRos } from './support/on-ros.js';

/** Domains 40 and up are the whole-system tests'. */
const ROS_DOMAIN_ID = 40;

interface Point {
  stamp: string;
  payload: { data: number };
}
interface LogRecord {
  level: string;
  name: string;
  file: string;
  function: string;
  line: number;
  msg: string;
}

const FIBONACCI = 'test_msgs/action/Fibonacci';

describeRos('the main job, through the API, on real ROS 2 with rclpy at the other end', () => {
  let system: OnRos;
  let cloud: TestCloud;
  let agent: TestAgent;
  let peer: RclpyPeer;

  beforeAll(async () => {
    system = await startOnRos({ domainId: ROS_DOMAIN_ID });
    ({ cloud, agent, peer } = system);
  });

  afterAll(async () => {
    await system?.stop();
  });

  const stream = (source: string, type: string, hz: number) =>
    cloud.call('POST', '/robots/rover-1/streams', { source, type, hz });

  const points = (source: string, satisfied: (points: Point[]) => boolean) =>
    cloud.until<Point[]>(`/robots/rover-1/data?source=${source}&limit=1000`, satisfied);

  it('a topic command arrives as the exact Twist', async () => {
    const subscription = await peer.subscribe({ topic: '/cmd_vel', type: 'geometry_msgs/msg/Twist' });
    const outcome = await cloud.run('rover-1', {
      interface: 'topic',
      name: '/cmd_vel',
      type: 'geometry_msgs/msg/Twist',
      payload: { linear: { x: 0.1, y: -2.5e-7 }, angular: { z: 'Infinity' } },
    });
    expect(outcome).toMatchObject({ state: 'executed', result: { matched_subscribers: 1 } });
    expect(await subscription.next()).toEqual({
      linear: { x: 0.1, y: -2.5e-7, z: 0 },
      angular: { x: 0, y: 0, z: 'Infinity' },
    });
    expect(subscription.received).toHaveLength(1);
  });

  it('a latched command reaches a subscriber that comes later', async () => {
    const command = { interface: 'topic', name: '/goal_name', type: 'std_msgs/msg/String', payload: { data: 'dock' } };
    const outcome = await cloud.run('rover-1', { ...command, latched: true });
    expect(outcome).toMatchObject({ state: 'executed', result: { matched_subscribers: 0 } });
    const late = await peer.subscribe({
      topic: '/goal_name',
      type: 'std_msgs/msg/String',
      durability: 'transient_local',
    });
    expect(await late.next()).toEqual({ data: 'dock' });
  });

  it('SetBool’s answer is in the outcome', async () => {
    await peer.serveSetBool('/enable_motors');
    const command = { interface: 'service', name: '/enable_motors', type: 'std_srvs/srv/SetBool' };
    expect(await cloud.run('rover-1', { ...command, payload: { data: true } })).toMatchObject({
      state: 'executed',
      result: { success: true, message: 'on' },
    });
    expect(await cloud.run('rover-1', { ...command, payload: {} })).toMatchObject({
      state: 'executed',
      result: { success: false, message: 'off' },
    });
  });

  it('a Fibonacci goal reports feedback while it runs, and its result', async () => {
    await peer.serveFibonacci('/fibonacci', { stepMs: 200 });
    const { body } = await cloud.call<{ uuid: string }>('POST', '/robots/rover-1/commands', {
      interface: 'action_send_goal',
      name: '/fibonacci',
      type: FIBONACCI,
      payload: { order: 8 },
    });
    const running = await cloud.until<{ state: string; feedback: { sequence: number[] } | null }>(
      `/commands/${body.uuid}/outcome`,
      (outcome) => outcome.feedback !== null,
    );
    expect(running).toMatchObject({ state: 'sent', feedback: { sequence: expect.arrayContaining([0, 1]) } });
    expect(await cloud.outcome(body.uuid)).toMatchObject({
      state: 'executed',
      error_code: null,
      result: { sequence: [0, 1, 1, 2, 3, 5, 8, 13, 21] },
    });
  });

  it('a goal is rejected, aborted, cancelled or timed out, each by its own code', async () => {
    const goal = (order: number, more = {}) => ({
      interface: 'action_send_goal',
      name: '/fibonacci',
      type: FIBONACCI,
      payload: { order },
      ...more,
    });
    expect(await cloud.run('rover-1', goal(41))).toMatchObject({ error_code: 'goal_rejected' });
    expect(await cloud.run('rover-1', goal(-1))).toMatchObject({ error_code: 'goal_aborted' });
    expect(await cloud.run('rover-1', goal(40, { timeout_s: 0.5 }))).toMatchObject({ error_code: 'timeout' });
    const { body } = await cloud.call<{ uuid: string }>('POST', '/robots/rover-1/commands', goal(40));
    await cloud.until<{ feedback: unknown }>(`/commands/${body.uuid}/outcome`, (outcome) => outcome.feedback !== null);
    await cloud.call('POST', `/commands/${body.uuid}/cancel`);
    expect(await cloud.outcome(body.uuid)).toMatchObject({ error_code: 'goal_canceled' });
  });

  it('a 50 Hz publisher sampled at 5 Hz for 20 s gives 100 ± 2 points', async () => {
    const publisher = await peer.advertise({ topic: '/fast', type: 'std_msgs/msg/Int64' });
    await stream('/fast', 'std_msgs/msg/Int64', 5);
    await publisher.matched();
    await publisher.repeat({ data: 0 }, { count: 1000, hz: 50, counter: 'data' });
    // The last due sample of the 20 s is among the last ten messages.
    const kept = await points('/fast', (found) => found.some((point) => point.payload.data > 985));
    expect(kept.length).toBeGreaterThanOrEqual(98);
    expect(kept.length).toBeLessThanOrEqual(102);
    const values = kept.map((point) => point.payload.data);
    expect(values).toEqual([...new Set(values)].sort((a, b) => b - a));
  }, 60_000);

  it('a best-effort publisher and a transient-local one that published before are received', async () => {
    const bestEffort = await peer.advertise({
      topic: '/lossy',
      type: 'std_msgs/msg/Int64',
      reliability: 'best_effort',
    });
    const latched = await peer.advertise({
      topic: '/map_name',
      type: 'std_msgs/msg/Int64',
      durability: 'transient_local',
    });
    await latched.publish({ data: 7 });
    await stream('/lossy', 'std_msgs/msg/Int64', 10);
    await stream('/map_name', 'std_msgs/msg/Int64', 10);
    expect(await points('/map_name', (found) => found.length > 0)).toMatchObject([{ payload: { data: 7 } }]);
    await bestEffort.matched();
    await bestEffort.repeat({ data: 3 }, { count: 20, hz: 20 });
    expect((await points('/lossy', (found) => found.length >= 5))[0]).toMatchObject({ payload: { data: 3 } });
  });

  it('a stream made before its publisher starts when the publisher comes', async () => {
    await stream('/later', 'std_msgs/msg/Int64', 20);
    const publisher = await peer.advertise({ topic: '/later', type: 'std_msgs/msg/Int64', reliability: 'best_effort' });
    await publisher.matched();
    await publisher.repeat({ data: 1 }, { count: 10, hz: 10 });
    await points('/later', (found) => found.length >= 5);
  });

  it('a logger’s info, warn, error and fatal records come back with node, file, function, line and message', async () => {
    const where = new Map<string, { file: string; function: string; line: number }>();
    for (const level of ['debug', 'info', 'warn', 'error', 'fatal'] as const) {
      where.set(level, await peer.log(level, `this is ${level}`));
    }
    const isOurs = (record: LogRecord) => record.msg.startsWith('this is ');
    const records = await cloud.until<LogRecord[]>('/robots/rover-1/logs?source=%2Frosout&limit=1000', (found) => {
      return found.filter(isOurs).length >= 4;
    });
    const ours = records.filter(isOurs);
    expect(ours.map((record) => record.level).sort()).toEqual(['error', 'fatal', 'info', 'warn']);
    for (const record of ours) {
      expect(record).toMatchObject({ name: 'peer', msg: `this is ${record.level}`, ...where.get(record.level) });
    }
  });

  it.each([
    [
      'an unknown type',
      { interface: 'topic', name: '/x', type: 'geometry_msgs/msg/Twirl', payload: {} },
      'invalid_type',
    ],
    [
      'a wrong payload',
      { interface: 'topic', name: '/x', type: 'std_msgs/msg/Int64', payload: { data: 'x' } },
      'invalid_payload',
    ],
    [
      'a missing service',
      { interface: 'service', name: '/nope', type: 'std_srvs/srv/Trigger', payload: {} },
      'service_not_ready',
    ],
    [
      'a missing action server',
      { interface: 'action_send_goal', name: '/nope', type: FIBONACCI, payload: {} },
      'action_server_not_ready',
    ],
  ])('%s ends with its own code', async (_name, command, errorCode) => {
    expect(await cloud.run('rover-1', command)).toMatchObject({ state: 'error', error_code: errorCode });
  });

  it('payloads that would kill or corrupt rclnodejs arrive exact, or are refused by their path; the agent lives', async () => {
    const { pid } = agent.process;
    const subscription = await peer.subscribe({ topic: '/numbers', type: 'test_msgs/msg/UnboundedSequences' });
    const send = (payload: unknown) =>
      cloud.run('rover-1', { interface: 'topic', name: '/numbers', type: 'test_msgs/msg/UnboundedSequences', payload });
    for (const [payload, path] of [
      [{ float32_values: 'abc' }, 'payload.float32_values'],
      [{ uint8_values: [300] }, 'payload.uint8_values[0]'],
      [{ int64_values: [1.5] }, 'payload.int64_values[0]'],
      [{ bool_values: ['false'] }, 'payload.bool_values[0]'],
      [{ basic_types_values: [5] }, 'payload.basic_types_values[0]'],
    ] as const) {
      expect(await send(payload)).toMatchObject({
        error_code: 'invalid_payload',
        error_message: expect.stringContaining(path),
      });
    }
    const exact = {
      int64_values: ['9007199254740993', '-9223372036854775808'],
      uint64_values: ['18446744073709551615'],
      uint8_values: 'AQID/w==',
      char_values: 'yMg=',
      float64_values: ['NaN', 1e300],
      string_values: ['ä', ''],
    };
    expect(await send(exact)).toMatchObject({ state: 'executed' });
    expect(await subscription.next()).toMatchObject(exact);
    expect(agent.process.pid).toBe(pid);
    expect(await cloud.get('/robots/rover-1')).toMatchObject({ online: true });
  });

  it('kill -9 of the agent: streams and commands go on by themselves', async () => {
    const publisher = await peer.advertise({ topic: '/steady', type: 'std_msgs/msg/Int64' });
    await stream('/steady', 'std_msgs/msg/Int64', 50);
    await publisher.matched();
    await publisher.repeat({ data: 0 }, { count: 20, hz: 50 });
    await agent.crashAndRestart();
    // For as long as it takes: the killed subscription still counts as matched for ten seconds, so that nothing tells of the new one.
    let isHeard = false;
    const publishing = (async () => {
      while (!isHeard) await publisher.repeat({ data: 1 }, { count: 50, hz: 50 });
    })();
    try {
      await points('/steady', (found) => found.filter((point) => point.payload.data === 1).length >= 50);
    } finally {
      isHeard = true;
      await publishing;
    }
    expect(
      await cloud.run('rover-1', {
        interface: 'service',
        name: '/enable_motors',
        type: 'std_srvs/srv/SetBool',
        payload: { data: true },
      }),
    ).toMatchObject({ state: 'executed' });
  });
});
