import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { decodeCdr, encodeCdr } from '@drover/shared/ros/cdr';
import { fromJson } from '@drover/shared/ros/from-json';
import type { RosMessage } from '@drover/shared/ros/values';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RosGraph } from '../../graph.js';
import { describeRos } from '../../testing/ros.js';
import { createRclnodejsGraph } from '../graph.js';

const DOMAIN_ID = 23;
const FIBONACCI = 'test_msgs/action/Fibonacci';
const program = fileURLToPath(new URL('../../../../bin/drover-simulated-robot.js', import.meta.url));

describeRos('the simulated robot on ROS 2', () => {
  let robot: ChildProcess;
  let graph: RosGraph;

  beforeAll(async () => {
    process.env.ROS_AUTOMATIC_DISCOVERY_RANGE = 'LOCALHOST';
    const env = { ...process.env, ROS_DOMAIN_ID: String(DOMAIN_ID) };
    robot = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    graph = createRclnodejsGraph({ domainId: DOMAIN_ID, log: { warn() {} } });
    const lines = createInterface({ input: robot.stdout ?? expect.unreachable('its stdout is a pipe') });
    const ready = (async () => {
      for await (const line of lines) if (line.includes('"msg":"ready"')) return;
      throw new Error('the robot ended before it was ready');
    })();
    await Promise.all([ready, graph.start()]);
  });

  afterAll(async () => {
    await graph.stop();
    const ended = once(robot, 'exit');
    robot.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  /** The first message of the topic that satisfies. */
  async function first(topic: string, type: string, satisfies = (_message: RosMessage) => true): Promise<RosMessage> {
    const definition = await graph.describe(type);
    if (definition.kind !== 'msg') throw new TypeError(`${type} is no message`);
    const { message: schema } = definition;
    let close = async () => {};
    const found = await new Promise<RosMessage>((resolve, reject) => {
      const onMessage = (cdr: Uint8Array) => {
        const message = decodeCdr(schema, cdr);
        if (satisfies(message)) resolve(message);
      };
      graph.subscribe({ topic, type, drainHz: 50, depth: 10, onMessage }).then((subscription) => {
        close = () => subscription.close();
      }, reject);
    });
    await close();
    return found;
  }

  const call = (service: string, type: string, request: RosMessage) =>
    graph.call({ service, type, request, readyTimeoutMs: 10_000, timeoutMs: 10_000 });

  async function drive(x: number): Promise<void> {
    const type = 'geometry_msgs/msg/Twist';
    const definition = await graph.describe(type);
    if (definition.kind !== 'msg') throw new TypeError('Twist is a message');
    const cdr = encodeCdr(definition.message, fromJson(definition.message, { linear: { x } }, 'payload'));
    const told = await graph.publish({ topic: '/cmd_vel', type, cdr, latched: false, matchTimeoutMs: 10_000 });
    expect(told).toEqual({ matchedSubscribers: 1 });
  }

  async function fibonacci(order: number, onFeedback: (feedback: RosMessage) => void = () => {}) {
    const timeouts = { readyTimeoutMs: 10_000, acceptTimeoutMs: 10_000 };
    const goalId = randomBytes(16);
    return graph.sendGoal({ action: '/fibonacci', type: FIBONACCI, goalId, goal: { order }, onFeedback, ...timeouts });
  }

  it.each([
    ['/scan', 'sensor_msgs/msg/LaserScan'],
    ['/imu', 'sensor_msgs/msg/Imu'],
    ['/battery_state', 'sensor_msgs/msg/BatteryState'],
    ['/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray'],
    ['/counter', 'std_msgs/msg/Int64'],
  ])('publishes %s as %s', async (topic, type) => {
    expect(await first(topic, type)).toBeTypeOf('object');
  });

  it('logs to /rosout', async () => {
    expect(await first('/rosout', 'rcl_interfaces/msg/Log')).toMatchObject({ name: 'simulated_robot', level: 20 });
  });

  it('drives where /cmd_vel says, until its odometry is reset or its motors are off', async () => {
    const odometry = (satisfies: (x: number, speed: number) => boolean) =>
      first('/odom', 'nav_msgs/msg/Odometry', ({ pose, twist }) => {
        const { position } = (pose as { pose: { position: { x: number } } }).pose;
        return satisfies(position.x, (twist as { twist: { linear: { x: number } } }).twist.linear.x);
      });
    await drive(0.4);
    await odometry((x, speed) => speed === 0.4 && x > 0.2);
    expect(await call('/enable_motors', 'std_srvs/srv/SetBool', { data: false })).toEqual({
      success: true,
      message: 'motors disabled',
    });
    expect(await call('/reset_odometry', 'std_srvs/srv/Trigger', {})).toMatchObject({ success: true });
    await odometry((x, speed) => speed === 0 && x === 0);
  });

  it('runs a goal with feedback, cancels one, and aborts one of a negative order', async () => {
    const feedback: unknown[] = [];
    const goal = await fibonacci(4, (message) => feedback.push(message));
    expect(await goal.result).toMatchObject({ status: 'succeeded' });
    expect([...((await goal.result).result.sequence as Int32Array)]).toEqual([0, 1, 1, 2, 3]);
    expect(feedback.length).toBeGreaterThan(0);
    const long = await fibonacci(40);
    expect(await long.cancel()).toBe(true);
    expect(await long.result).toMatchObject({ status: 'canceled' });
    expect(await (await fibonacci(-1)).result).toMatchObject({ status: 'aborted' });
  });
});
