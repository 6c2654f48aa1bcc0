import { encodeCdr } from '@drover/shared/ros/cdr';
import { fromJson } from '@drover/shared/ros/from-json';
import type { RosMessage } from '@drover/shared/ros/values';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GoalRejectedError } from '../../graph.js';
import type { SimulatedGraph } from '../graph.js';
import { ManualClock } from '../manual-clock.fixture.js';
import type { SimulatedNode } from '../node.js';
import { createRobotGraph } from '../robot-graph.js';

/** A repeatable source of randomness (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

let clock: ManualClock;
let graph: SimulatedGraph;
let watcher: SimulatedNode;
let faults: string[];

beforeEach(async () => {
  clock = new ManualClock();
  faults = [];
  graph = createRobotGraph({
    clock,
    random: seeded(1),
    onFault: (where, error) => faults.push(`${where}: ${error}`),
  });
  await graph.start();
  watcher = graph.peers.node('/watcher');
});

afterEach(async () => {
  await graph.stop();
  expect(faults).toEqual([]);
});

async function listen(topic: string, type: string): Promise<RosMessage[]> {
  const received: RosMessage[] = [];
  await watcher.subscribe(topic, type, (message) => received.push(message), { depth: 100 });
  return received;
}

async function drive(linear: number, angular: number): Promise<void> {
  const type = 'geometry_msgs/msg/Twist';
  const definition = await graph.describe(type);
  if (definition.kind !== 'msg') throw new TypeError('Twist is a message');
  const twist = fromJson(definition.message, { linear: { x: linear }, angular: { z: angular } }, 'payload');
  const cdr = encodeCdr(definition.message, twist);
  expect(await graph.publish({ topic: '/cmd_vel', type, cdr, latched: false, matchTimeoutMs: 1000 })).toEqual({
    matchedSubscribers: 1,
  });
  await clock.advance(1);
}

function call(service: string, type: string, request: RosMessage): Promise<RosMessage> {
  return graph.call({ service, type, request, readyTimeoutMs: 5000, timeoutMs: 5000 });
}

const setMotors = (data: boolean) => call('/enable_motors', 'std_srvs/srv/SetBool', { data });

interface Odometry {
  pose: { pose: { position: { x: number; y: number } } };
  twist: { twist: { linear: { x: number }; angular: { z: number } } };
}

async function odometry(): Promise<{ x: number; y: number; linear: number; angular: number }> {
  const received = await listen('/odom', 'nav_msgs/msg/Odometry');
  await clock.advance(60);
  const { pose, twist } = received.at(-1) as unknown as Odometry;
  return { ...pose.pose.position, linear: twist.twist.linear.x, angular: twist.twist.angular.z };
}

describe('what it publishes', () => {
  it.each([
    ['/odom', 'nav_msgs/msg/Odometry', 20],
    ['/scan', 'sensor_msgs/msg/LaserScan', 10],
    ['/imu', 'sensor_msgs/msg/Imu', 50],
    ['/battery_state', 'sensor_msgs/msg/BatteryState', 1],
    ['/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', 1],
    ['/counter', 'std_msgs/msg/Int64', 50],
  ])('%s as %s, %i times a second', async (topic, type, hz) => {
    const received = await listen(topic, type);
    await clock.advance(10_000);
    await clock.advance(0);
    expect(received).toHaveLength(hz * 10);
  });

  it('lists its topics', async () => {
    const topics = await graph.topics();
    expect(topics.map(({ name }) => name)).toEqual([
      '/battery_state',
      '/cmd_vel',
      '/counter',
      '/diagnostics',
      '/imu',
      '/odom',
      '/rosout',
      '/scan',
    ]);
  });

  it('counts by one each tick, heard or not', async () => {
    await clock.advance(1000);
    const received = await listen('/counter', 'std_msgs/msg/Int64');
    await clock.advance(100);
    expect(received.map(({ data }) => data)).toEqual([51n, 52n, 53n, 54n, 55n]);
  });

  it('makes nothing that nobody subscribes to', async () => {
    let drawn = 0;
    const lonely = createRobotGraph({
      clock,
      random: () => {
        drawn += 1;
        return 0.5;
      },
      onFault: (where) => faults.push(where),
    });
    await lonely.start();
    await clock.advance(1000);
    expect(drawn).toBe(0);
    await lonely.stop();
  });

  it('scans a room: ranges of every direction, infinite only through the doorway', async () => {
    const received = await listen('/scan', 'sensor_msgs/msg/LaserScan');
    await drive(0.5, 0.3);
    for (let minute = 0; minute < 3; minute += 1) await clock.advance(20_000);
    for (const { ranges, intensities } of received) {
      const values = [...(ranges as Float32Array)];
      expect(values).toHaveLength(360);
      expect(intensities).toHaveLength(0);
      const finite = values.filter(Number.isFinite);
      expect(finite.length).toBeGreaterThan(270);
      expect(Math.min(...finite)).toBeGreaterThanOrEqual(0.12 - 1e-6);
      expect(Math.max(...finite)).toBeLessThan(10);
    }
    // At the start it stands in the middle, looking along +x at the doorway, with a wall 4 m behind it.
    const first = received[0]?.ranges as Float32Array;
    expect(first[180]).toBe(Number.POSITIVE_INFINITY);
    expect(first[0]).toBeCloseTo(4, 0);
  });

  it('tells a battery whose ratio falls slowly and never leaves 0..1', async () => {
    const received = await listen('/battery_state', 'sensor_msgs/msg/BatteryState');
    await clock.advance(60_000);
    const ratios = received.map(({ percentage }) => Number(percentage));
    expect(ratios[0]).toBeCloseTo(0.95, 2);
    expect(ratios.at(-1)).toBeLessThan(ratios[0] ?? 0);
    for (const ratio of ratios) expect(ratio >= 0 && ratio <= 1).toBe(true);
    expect(received[0]).toMatchObject({ present: true, charge: Number.NaN });
  });

  it('stamps by its clock', async () => {
    const received = await listen('/imu', 'sensor_msgs/msg/Imu');
    await clock.advance(20);
    expect(received[0]?.header).toEqual({
      stamp: { sec: clock.epochMs / 1000, nanosec: 20_000_000 },
      frame_id: 'imu_link',
    });
  });
});

describe('driving', () => {
  it('keeps the last velocity and moves by it', async () => {
    await drive(0.2, 0);
    await clock.advance(10_000);
    const { x, y, linear } = await odometry();
    expect(linear).toBe(0.2);
    expect(x).toBeCloseTo(2, 1);
    expect(y).toBe(0);
  });

  it('comes back to where it was after a full circle', async () => {
    await drive(0.5, (2 * Math.PI) / 10);
    await clock.advance(10_000 - 1 - 60);
    const { x, y, angular } = await odometry();
    expect(Math.hypot(x, y)).toBeLessThan(0.05);
    expect(angular).toBeCloseTo(0.628, 3);
  });

  it('stands where its motors are disabled, and stays so once they are enabled again', async () => {
    await drive(0.2, 0);
    expect(await setMotors(false)).toEqual({ success: true, message: 'motors disabled' });
    expect((await odometry()).linear).toBe(0);
    await drive(0.3, 0);
    expect((await odometry()).linear).toBe(0);
    expect(await setMotors(true)).toEqual({ success: true, message: 'motors enabled' });
    expect((await odometry()).linear).toBe(0);
    await drive(0.3, 0);
    expect((await odometry()).linear).toBe(0.3);
  });

  it('ignores a velocity that is not finite', async () => {
    await drive(0.2, 0);
    await drive(Number.NaN, 0);
    await drive(0, Number.POSITIVE_INFINITY);
    expect((await odometry()).linear).toBe(0.2);
  });

  it('puts the odometry back to zero', async () => {
    await drive(0.2, 0);
    await clock.advance(5000);
    await drive(0, 0);
    expect(await call('/reset_odometry', 'std_srvs/srv/Trigger', {})).toEqual({
      success: true,
      message: 'odometry reset',
    });
    expect(await odometry()).toMatchObject({ x: 0, y: 0 });
  });
});

describe('its log', () => {
  it('is on /rosout with the place that wrote it, and kept for who comes late', async () => {
    const records: RosMessage[] = [];
    await watcher.subscribe('/rosout', 'rcl_interfaces/msg/Log', (record) => records.push(record), {
      durability: 'transient_local',
    });
    await setMotors(false);
    await drive(1, 0);
    await clock.advance(1);
    expect(records.map(({ level, name, msg }) => [level, name, msg])).toEqual([
      [20, 'simulated_robot', 'simulated robot is ready'],
      [20, 'simulated_robot', 'motors disabled'],
      [30, 'simulated_robot', 'ignored a velocity: the motors are disabled'],
    ]);
    for (const record of records) {
      expect(record.file).toMatch(/robot\.(ts|js)$/);
      expect(record.line).toBeGreaterThan(0);
    }
    expect(records[0]?.function).toBe('startRobot');
  });

  it('says how it is every 10 s', async () => {
    const records = await listen('/rosout', 'rcl_interfaces/msg/Log');
    await clock.advance(20_000);
    expect(records.map(({ msg }) => msg)).toEqual([
      'battery at 95 %, at (0.00, 0.00)',
      'battery at 95 %, at (0.00, 0.00)',
    ]);
  });
});

describe.each(['example_interfaces/action/Fibonacci', 'test_msgs/action/Fibonacci'])('/fibonacci as %s', (type) => {
  const send = async (order: number, goalId = new Uint8Array(16).fill(order)) => {
    const feedback: { atMs: number; sequence: number[] }[] = [];
    const handle = await graph.sendGoal({
      action: '/fibonacci',
      type,
      goalId,
      goal: { order },
      readyTimeoutMs: 5000,
      acceptTimeoutMs: 5000,
      onFeedback: ({ sequence }) =>
        feedback.push({ atMs: clock.monotonicMs(), sequence: [...(sequence as Int32Array)] }),
    });
    return { handle, feedback };
  };

  it('tells each step after 200 ms, then the whole', async () => {
    const { handle, feedback } = await send(5);
    await clock.advance(800);
    expect(feedback).toEqual([
      { atMs: 200, sequence: [0, 1, 1] },
      { atMs: 400, sequence: [0, 1, 1, 2] },
      { atMs: 600, sequence: [0, 1, 1, 2, 3] },
      { atMs: 800, sequence: [0, 1, 1, 2, 3, 5] },
    ]);
    expect(await handle.result).toEqual({ status: 'succeeded', result: { sequence: Int32Array.of(0, 1, 1, 2, 3, 5) } });
    expect(await handle.cancel()).toBe(false);
  });

  it('aborts for a negative order, at once', async () => {
    const { handle } = await send(-1);
    expect(await handle.result).toMatchObject({ status: 'aborted' });
  });

  it('ends canceled with what it has', async () => {
    const { handle, feedback } = await send(1000);
    await clock.advance(500);
    expect(await handle.cancel()).toBe(true);
    expect(await handle.result).toEqual({ status: 'canceled', result: { sequence: Int32Array.of(0, 1, 1, 2) } });
    await clock.advance(1000);
    expect(feedback).toHaveLength(2);
  });

  it('runs several goals at once and none twice', async () => {
    const first = await send(3);
    const second = await send(2);
    await expect(send(3)).rejects.toBeInstanceOf(GoalRejectedError);
    await clock.advance(400);
    expect(await first.handle.result).toMatchObject({ status: 'succeeded' });
    expect(await second.handle.result).toMatchObject({ status: 'succeeded' });
  });

  it('goes on past 32 bits', async () => {
    const { handle, feedback } = await send(50);
    await clock.advance(10_000);
    expect(await handle.result).toMatchObject({ status: 'succeeded' });
    expect(feedback).toHaveLength(49);
  });
});
