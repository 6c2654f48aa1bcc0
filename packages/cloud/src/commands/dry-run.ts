import type { CommandCheck } from '@drover/shared/api/commands';
import { ApiError } from '@drover/shared/api/errors';
import { checkAnswer, type RobotCheck, type RobotCheckName } from '@drover/shared/link/answers';
import { inquire, type RobotQuestions } from '../graph/inquiry.js';
import { NoAnswerError } from '../graph/no-answer.js';
import type { RobotRef, Robots } from '../robots/robots.js';
import type { CommandRequest } from './admission.js';

type Check = CommandCheck['checks'][number];

/** Tries commands without sending them: what the cloud knows, then what the robot finds. Nothing is stored. */
export class DryRun {
  readonly #robots: Robots;
  readonly #questions: RobotQuestions;

  constructor(options: { robots: Robots; questions: RobotQuestions }) {
    this.#robots = options.robots;
    this.#questions = options.questions;
  }

  /**
   * Every check, in the order in which a command meets them. A robot that is offline is an answer, not an error.
   * @throws ApiError unavailable where it is online and gives no answer, rate_limited
   */
  async check(robot: RobotRef, request: CommandRequest): Promise<CommandCheck> {
    const { provisioned } = await this.#robots.get(robot.tenantKey, robot.id);
    if (!provisioned) {
      const never = 'no agent has connected with this robot’s token yet';
      return report([check('robot_provisioned', false, never), ...offline(request, never)]);
    }
    const known = check('robot_provisioned', true, 'its agent has connected');
    const { interface: kind, name, type, payload, latched } = request;
    try {
      const question = { about: 'check', interface: kind, name, type, payload, latched } as const;
      const { checks } = await inquire(this.#questions, robot, question, checkAnswer);
      const told = namesOf(request).map((each) => tellingOf(checks, each));
      return report([known, check('robot_online', true, 'it is connected'), ...told]);
    } catch (error) {
      const cause = error instanceof ApiError ? error.cause : undefined;
      if (!(cause instanceof NoAnswerError) || cause.reason !== 'offline') throw error;
      return report([known, ...offline(request, 'the robot is offline; ttl_s lets a command wait for it')]);
    }
  }
}

/** What the robot looks at for a command, in this order. */
function namesOf(request: CommandRequest): readonly RobotCheckName[] {
  const peers = request.interface === 'topic' ? 'subscribers_there' : 'server_there';
  return ['type_known', 'payload_fits', 'name_resolves', peers, 'policy_allows'];
}

/** Nothing is well for the robot's not saying so. */
function tellingOf(checks: readonly RobotCheck[], name: RobotCheckName): Check {
  const told = checks.filter((each) => each.name === name);
  return told.find(({ ok }) => !ok) ?? told[0] ?? check(name, false, 'the robot did not say');
}

/** What can't be known of an offline robot is not ok: the command would not run now. */
function offline(request: CommandRequest, message: string): Check[] {
  return [
    check('robot_online', false, message),
    ...namesOf(request).map((name) => check(name, false, 'not checked: it takes the robot to know')),
  ];
}

function report(checks: Check[]): CommandCheck {
  return { ok: checks.every(({ ok }) => ok), checks };
}

function check(name: Check['name'], ok: boolean, message: string): Check {
  return { name, ok, message };
}
