import type { RosMessage } from '@drover/shared/ros/values';
import { UnknownTypeError } from '../../graph.js';
import { type NodeLogger, type RosNode, rosTime } from '../ros-node.js';
import { Battery } from './battery.js';
import { diagnosticStatus } from './diagnostics.js';
import { fibonacci } from './fibonacci.js';
import { laserScan } from './lidar.js';
import { Motion, quaternion } from './motion.js';
import { covariance, noise } from './noise.js';

/** The types under which /fibonacci is served, those of them that the graph has. */
const FIBONACCI_TYPES = ['example_interfaces/action/Fibonacci', 'test_msgs/action/Fibonacci'] as const;

const STEP_MS = 50;
const FAST_MS = 20;
const HEALTH_MS = 1000;
const IGNORED_WARNING_MS = 5000;
const REPORT_MS = 10_000;

const POSE_COVARIANCE = covariance(0.001, 0.001, 1e6, 1e6, 1e6, 0.01);
const TWIST_COVARIANCE = covariance(0.0001, 0.0001, 1e6, 1e6, 1e6, 0.001);
const ORIENTATION_COVARIANCE = covariance(0.0025, 0.0025, 0.0025);
const ANGULAR_COVARIANCE = covariance(0.0004, 0.0004, 0.0004);
const ACCELERATION_COVARIANCE = covariance(0.0016, 0.0016, 0.0016);
const GRAVITY = 9.81;

/**
 * A small mobile robot: drives by /cmd_vel, keeping the last velocity; tells /odom, /scan, /imu, /battery_state,
 * /diagnostics, /counter and /rosout; serves /reset_odometry, /enable_motors and /fibonacci. Lives as long as its node.
 * What nobody subscribes to is not even made.
 */
export async function startRobot(node: RosNode, random: () => number): Promise<void> {
  const log = await node.logger();
  const motion = new Motion();
  const battery = new Battery();
  await driveByCommand(node, motion, log);
  await publishMotion(node, motion, random);
  await publishFast(node, motion, random);
  await publishHealth(node, motion, battery);
  await serve(node, motion, log);
  node.every(REPORT_MS, () => {
    const { x, y } = motion.pose;
    const text = `battery at ${Math.round(battery.ratio * 100)} %, at (${x.toFixed(2)}, ${y.toFixed(2)})`;
    if (battery.charging) log.warn(`${text}, charging`);
    else log.info(text);
  });
  log.info('simulated robot is ready');
}

async function driveByCommand(node: RosNode, motion: Motion, log: NodeLogger): Promise<void> {
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  await node.subscribe('/cmd_vel', 'geometry_msgs/msg/Twist', (twist) => {
    if (motion.drive(twist) || Math.abs(node.now() - warnedAtMs) < IGNORED_WARNING_MS) return;
    warnedAtMs = node.now();
    log.warn(motion.enabled ? 'ignored a velocity that is not finite' : 'ignored a velocity: the motors are disabled');
  });
}

/** Drives, and tells where to: odometry at each step, a scan at every other. */
async function publishMotion(node: RosNode, motion: Motion, random: () => number): Promise<void> {
  const odom = await node.publisher('/odom', 'nav_msgs/msg/Odometry');
  const scan = await node.publisher('/scan', 'sensor_msgs/msg/LaserScan');
  let steps = 0;
  node.every(STEP_MS, (elapsedMs) => {
    motion.advance(elapsedMs);
    steps += 1;
    if (odom.isHeard) odom.publish({ header: header(node, 'odom'), child_frame_id: 'base_link', ...odometry(motion) });
    if (steps % 2 === 0 && scan.isHeard) {
      scan.publish({ header: header(node, 'laser'), ...laserScan(motion.pose, random) });
    }
  });
}

function odometry(motion: Motion): RosMessage {
  const { x, y, yaw } = motion.pose;
  return {
    pose: { pose: { position: { x, y, z: 0 }, orientation: quaternion(yaw) }, covariance: POSE_COVARIANCE },
    twist: {
      twist: { linear: { x: motion.linear, y: 0, z: 0 }, angular: { x: 0, y: 0, z: motion.angular } },
      covariance: TWIST_COVARIANCE,
    },
  };
}

/** The two fast ones, from one timer. */
async function publishFast(node: RosNode, motion: Motion, random: () => number): Promise<void> {
  const counter = await node.publisher('/counter', 'std_msgs/msg/Int64');
  const imu = await node.publisher('/imu', 'sensor_msgs/msg/Imu');
  let count = 0n;
  node.every(FAST_MS, () => {
    // Counts heard or not: a gap in what was collected shows as a gap in the numbers.
    count += 1n;
    if (counter.isHeard) counter.publish({ data: count });
    if (imu.isHeard) imu.publish({ header: header(node, 'imu_link'), ...inertia(motion, random) });
  });
}

function inertia(motion: Motion, random: () => number): RosMessage {
  const vector = (deviation: number, z: number) => ({
    x: noise(random, deviation),
    y: noise(random, deviation),
    z: z + noise(random, deviation),
  });
  return {
    orientation: quaternion(motion.pose.yaw),
    orientation_covariance: ORIENTATION_COVARIANCE,
    angular_velocity: vector(0.02, motion.angular),
    angular_velocity_covariance: ANGULAR_COVARIANCE,
    linear_acceleration: vector(0.04, GRAVITY),
    linear_acceleration_covariance: ACCELERATION_COVARIANCE,
  };
}

function header(node: RosNode, frame_id: string): RosMessage {
  return { stamp: rosTime(node.now()), frame_id };
}

async function publishHealth(node: RosNode, motion: Motion, battery: Battery): Promise<void> {
  const state = await node.publisher('/battery_state', 'sensor_msgs/msg/BatteryState');
  const diagnostics = await node.publisher('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray');
  node.every(HEALTH_MS, (elapsedMs) => {
    battery.advance(elapsedMs, motion.linear);
    if (state.isHeard) state.publish({ header: header(node, 'base_link'), ...battery.state() });
    if (diagnostics.isHeard) {
      diagnostics.publish({ header: header(node, ''), status: diagnosticStatus(motion, battery) });
    }
  });
}

async function serve(node: RosNode, motion: Motion, log: NodeLogger): Promise<void> {
  await node.service('/reset_odometry', 'std_srvs/srv/Trigger', () => {
    motion.reset();
    log.info('odometry reset');
    return { success: true, message: 'odometry reset' };
  });
  await node.service('/enable_motors', 'std_srvs/srv/SetBool', ({ data }) => {
    motion.enable(data === true);
    const message = data === true ? 'motors enabled' : 'motors disabled';
    log.info(message);
    return { success: true, message };
  });
  for (const type of FIBONACCI_TYPES) {
    try {
      await node.actionServer('/fibonacci', type, fibonacci(node, log));
    } catch (error) {
      if (!(error instanceof UnknownTypeError)) throw error;
    }
  }
}
