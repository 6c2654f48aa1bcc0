import type { RosMessage } from '@drover/shared/ros/values';
import type { Pose } from './motion.js';
import { noise } from './noise.js';

const RAYS = 360;
const RANGE_MIN_M = 0.12;
const RANGE_MAX_M = 12;
const NOISE_M = 0.01;
const SCAN_S = 0.1;

/** Half the sides of the room, a doorway in its +x wall, and a pillar. Metres. */
const HALF_X = 4;
const HALF_Y = 3;
const DOOR_HALF_WIDTH = 0.5;
const PILLAR = { x: 2, y: 1.5, radius: 0.3 };
/** The robot keeps this far from the walls in the room that its lidar sees. */
const MARGIN = 0.6;

/** The fields of a sensor_msgs/msg/LaserScan but its header: a full turn in a room, seen from a pose. */
export function laserScan(pose: Pose, random: () => number): RosMessage {
  // The odometry may lead anywhere; the room is reflected at its walls, so that what the lidar sees stays continuous.
  const x = fold(pose.x, HALF_X - MARGIN);
  const y = fold(pose.y, HALF_Y - MARGIN);
  const increment = (2 * Math.PI) / RAYS;
  const ranges = new Float32Array(RAYS);
  for (let ray = 0; ray < RAYS; ray += 1) {
    const distance = castRay(x, y, pose.yaw - Math.PI + ray * increment);
    // Nothing in range is +Inf (REP 117).
    ranges[ray] =
      distance > RANGE_MAX_M ? Number.POSITIVE_INFINITY : Math.max(RANGE_MIN_M, distance + noise(random, NOISE_M));
  }
  return {
    angle_min: -Math.PI,
    angle_max: Math.PI - increment,
    angle_increment: increment,
    time_increment: SCAN_S / RAYS,
    scan_time: SCAN_S,
    range_min: RANGE_MIN_M,
    range_max: RANGE_MAX_M,
    ranges,
    intensities: new Float32Array(),
  };
}

/** Metres to what a ray hits first; infinite through the doorway. */
function castRay(x: number, y: number, angle: number): number {
  const cos = Math.cos(angle);
  const sin = Math.sin(angle);
  const pillar = pillarDistance(x, y, cos, sin);
  const toX = cos === 0 ? Number.POSITIVE_INFINITY : (Math.sign(cos) * HALF_X - x) / cos;
  const toY = sin === 0 ? Number.POSITIVE_INFINITY : (Math.sign(sin) * HALF_Y - y) / sin;
  const throughDoor = toX < toY && cos > 0 && Math.abs(y + toX * sin) < DOOR_HALF_WIDTH;
  return Math.min(pillar, throughDoor ? Number.POSITIVE_INFINITY : Math.min(toX, toY));
}

function pillarDistance(x: number, y: number, cos: number, sin: number): number {
  const along = (PILLAR.x - x) * cos + (PILLAR.y - y) * sin;
  const across = (PILLAR.x - x) * sin - (PILLAR.y - y) * cos;
  const inside = PILLAR.radius ** 2 - across ** 2;
  return along <= 0 || inside < 0 ? Number.POSITIVE_INFINITY : along - Math.sqrt(inside);
}

/** Runs back and forth between ±half as a coordinate goes on. */
function fold(value: number, half: number): number {
  const period = 4 * half;
  const phase = (((value + half) % period) + period) % period;
  return phase < 2 * half ? phase - half : 3 * half - phase;
}
