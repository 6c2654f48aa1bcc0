import type { RosMessage } from '@drover/shared/ros/values';

export interface Pose {
  /** Metres. */
  readonly x: number;
  readonly y: number;
  /** Radians, counterclockwise, within ±π. */
  readonly yaw: number;
}

const ORIGIN: Pose = { x: 0, y: 0, yaw: 0 };

/** A differential drive: keeps the last velocity it was told, and where that has taken it. */
export class Motion {
  #pose = ORIGIN;
  /** m/s forward. */
  #linear = 0;
  /** rad/s counterclockwise. */
  #angular = 0;
  #enabled = true;

  get pose(): Pose {
    return this.#pose;
  }
  get linear(): number {
    return this.#linear;
  }
  get angular(): number {
    return this.#angular;
  }
  get enabled(): boolean {
    return this.#enabled;
  }

  /** Takes a geometry_msgs/msg/Twist; false where the motors are off or it is not finite, and nothing changes. */
  drive(twist: RosMessage): boolean {
    const linear = component(twist.linear, 'x');
    const angular = component(twist.angular, 'z');
    if (!this.#enabled || !Number.isFinite(linear) || !Number.isFinite(angular)) return false;
    this.#linear = linear;
    this.#angular = angular;
    return true;
  }

  /** Switching off also forgets the last velocity: switching on again must not set the robot in motion. */
  enable(enabled: boolean): void {
    this.#enabled = enabled;
    if (enabled) return;
    this.#linear = 0;
    this.#angular = 0;
  }

  reset(): void {
    this.#pose = ORIGIN;
  }

  /** Moves on along the arc of the velocities. */
  advance(elapsedMs: number): void {
    const seconds = elapsedMs / 1000;
    const { x, y, yaw } = this.#pose;
    const turned = this.#angular * seconds;
    const middle = yaw + turned / 2;
    const chord = Math.abs(turned) < 1e-9 ? 1 : Math.sin(turned / 2) / (turned / 2);
    const distance = this.#linear * seconds * chord;
    this.#pose = {
      x: x + distance * Math.cos(middle),
      y: y + distance * Math.sin(middle),
      yaw: Math.atan2(Math.sin(yaw + turned), Math.cos(yaw + turned)),
    };
  }
}

/** geometry_msgs/msg/Quaternion of a turn about the vertical. */
export function quaternion(yaw: number): RosMessage {
  return { x: 0, y: 0, z: Math.sin(yaw / 2), w: Math.cos(yaw / 2) };
}

function component(vector: RosMessage[string] | undefined, axis: 'x' | 'z'): number {
  const value = typeof vector === 'object' && axis in vector ? (vector as RosMessage)[axis] : undefined;
  return typeof value === 'number' ? value : Number.NaN;
}
