import { UnknownTypeError } from '../../graph.js';
import { type NodeLogger, type NodePublisher, type RosNode, rosTime } from '../ros-node.js';
import { Battery } from './battery.js';
import { diagnosticStatus } from './diagnostics.js';
import { fibonacci } from './fibonacci.js';
import { laserScan } from './lidar.js';
import { Motion, quaternion } from './motion.js';
import { covariance, noise } from './noise.js';

/** The types under which /fibonacci is served, those of them that the graph has. */
const FIBONACCI_TYPES = ['example_interfaces/action/Fibonacci', 'test_msgs/action/Fibonacci'] as const;

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
  await publishHealth(node, motion, battery);
  await publishCounter(node);
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

async function publishMotion(node: RosNode, motion: Motion, random: () => number): Promise<void> {
  const header = (frame_id: string) => ({ stamp: rosTime(node.now()), frame_id });
  const odom = await node.publisher('/odom', 'nav_msgs/msg/Odometry');
  node.every(50, (elapsedMs) => {
    motion.advance(elapsedMs);
    if (!odom.isHeard) return;
    const { x, y, yaw } = motion.pose;
    odom.publish({
      header: header('odom'),
      child_frame_id: 'base_link',
      pose: { pose: { position: { x, y, z: 0 }, orientation: quaternion(yaw) }, covariance: POSE_COVARIANCE },
      twist: {
        twist: { linear: { x: motion.linear, y: 0, z: 0 }, angular: { x: 0, y: 0, z: motion.angular } },
        covariance: TWIST_COVARIANCE,
      },
    });
  });
  const scan = await node.publisher('/scan', 'sensor_msgs/msg/LaserScan');
  node.every(100, () => {
    if (scan.isHeard) scan.publish({ header: header('laser'), ...laserScan(motion.pose, random) });
  });
  const imu = await node.publisher('/imu', 'sensor_msgs/msg/Imu');
  node.every(20, () => {
    if (!imu.isHeard) return;
    const vector = (deviation: number, z: number) => ({
      x: noise(random, deviation),
      y: noise(random, deviation),
      z: z + noise(random, deviation),
    });
    imu.publish({
      header: header('imu_link'),
      orientation: quaternion(motion.pose.yaw),
      orientation_covariance: ORIENTATION_COVARIANCE,
      angular_velocity: vector(0.02, motion.angular),
      angular_velocity_covariance: ANGULAR_COVARIANCE,
      linear_acceleration: vector(0.04, GRAVITY),
      linear_acceleration_covariance: ACCELERATION_COVARIANCE,
    });
  });
}

async function publishHealth(node: RosNode, motion: Motion, battery: Battery): Promise<void> {
  const state = await node.publisher('/battery_state', 'sensor_msgs/msg/BatteryState');
  const diagnostics = await node.publisher('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray');
  node.every(1000, (elapsedMs) => {
    battery.advance(elapsedMs, motion.linear);
    const stamp = rosTime(node.now());
    if (state.isHeard) state.publish({ header: { stamp, frame_id: 'base_link' }, ...battery.state() });
    if (diagnostics.isHeard) {
      diagnostics.publish({ header: { stamp, frame_id: '' }, status: diagnosticStatus(motion, battery) });
    }
  });
}

/** Counts each tick, heard or not: a gap in what was collected shows as a gap in the numbers. */
async function publishCounter(node: RosNode): Promise<void> {
  const counter: NodePublisher = await node.publisher('/counter', 'std_msgs/msg/Int64');
  let count = 0n;
  node.every(20, () => {
    count += 1n;
    if (counter.isHeard) counter.publish({ data: count });
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
