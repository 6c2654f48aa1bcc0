import type { Answer, Question } from '@drover/shared/link/query';
import type { DeliverableCommand } from '../commands/commands.js';
import { NoAnswerError } from '../graph/no-answer.js';
import type { RobotSession } from './session.js';

/** Questions that wait for answers of all robots together; one more is refused. */
export const QUESTIONS_MAX = 500;

/** The sessions this gateway holds, at most one a robot. */
export class SessionRegistry {
  readonly #byRobot = new Map<number, RobotSession>();

  #questions = 0;

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

  /** Asks the robot's session. @throws NoAnswerError */
  async ask(robotKey: number, question: Question): Promise<Answer> {
    const session = this.#byRobot.get(robotKey);
    if (!session) throw new NoAnswerError('offline', 'it is offline');
    if (this.#questions >= QUESTIONS_MAX) {
      throw new NoAnswerError('busy', `${QUESTIONS_MAX} questions wait for the answers of robots already`);
    }
    this.#questions += 1;
    try {
      return await session.ask(question);
    } finally {
      this.#questions -= 1;
    }
  }

  /** The inbox that the robot's session speaks for; undefined where it has none here. */
  inboxOf(robotKey: number): string | undefined {
    return this.#byRobot.get(robotKey)?.inboxId;
  }

  /** Gives the robot's session a command that is bound to its inbox; false where it can't write it now. */
  offer(robotKey: number, inboxId: string, command: DeliverableCommand): boolean {
    return this.#byRobot.get(robotKey)?.offered(inboxId, command) ?? false;
  }
}
