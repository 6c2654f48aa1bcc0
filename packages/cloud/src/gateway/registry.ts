import type { RobotSession } from './session.js';

/** The sessions this gateway holds, at most one a robot. */
export class SessionRegistry {
  readonly #byRobot = new Map<number, RobotSession>();

  get size(): number {
    return this.#byRobot.size;
  }

  all(): Iterable<RobotSession> {
    return this.#byRobot.values();
  }

  get(robotKey: number): RobotSession | undefined {
    return this.#byRobot.get(robotKey);
  }

  /** Makes `session` the robot's one; returns the session it replaces, for the caller to close. */
  take(session: RobotSession): RobotSession | undefined {
    const older = this.#byRobot.get(session.robot.key);
    this.#byRobot.set(session.robot.key, session);
    return older;
  }

  /** Forgets the session; false where a newer one has already taken its place. */
  release(session: RobotSession): boolean {
    if (this.#byRobot.get(session.robot.key) !== session) return false;
    this.#byRobot.delete(session.robot.key);
    return true;
  }

  /** The inbox that the robot's session speaks for; undefined where it has none here. */
  inboxOf(robotKey: number): string | undefined {
    return this.#byRobot.get(robotKey)?.inboxId;
  }
}
