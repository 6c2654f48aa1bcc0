/** What is asked of a robot about compose, and never kept: what an assignment would do, and what a service wrote. */
import type { ComposePlan, PlanComposeFileBody, ServiceLogs } from '@drover/shared/api/compose-plan';
import { composeLogsAnswer, composePlanAnswer } from '@drover/shared/link/compose-answers';
import type { Question } from '@drover/shared/link/query';
import { inquire, type RobotQuestions } from '../graph/inquiry.js';
import type { RobotRef } from '../robots/robots.js';
import type { ComposeFiles } from './files.js';
import type { RobotCompose } from './robot-compose.js';

export class ComposeInquiries {
  readonly #questions: RobotQuestions;
  readonly #files: ComposeFiles;
  readonly #robotCompose: RobotCompose;

  constructor(options: { questions: RobotQuestions; files: ComposeFiles; robotCompose: RobotCompose }) {
    this.#questions = options.questions;
    this.#files = options.files;
    this.#robotCompose = options.robotCompose;
  }

  /**
   * What assigning a stored file, or a document that is not stored, would do now.
   * @throws ApiError compose_file_not_found, invalid_request, unavailable, rate_limited
   */
  async plan(robot: RobotRef, body: PlanComposeFileBody): Promise<ComposePlan> {
    const question = { about: 'compose_plan', ...(await this.#planned(robot, body)) } as const;
    const plan = await inquire(this.#questions, robot, question, composePlanAnswer);
    const { refusals, error, ports, disk } = plan;
    const ok = refusals.length === 0 && error === null && disk.fits !== false && ports.every(({ free }) => free);
    return { ok, ...plan };
  }

  /**
   * The last lines of each container of a service.
   * @throws ApiError compose_file_not_assigned, not_found, unavailable, rate_limited
   */
  async logs(robot: RobotRef, service: string, tail: number): Promise<ServiceLogs> {
    await this.#robotCompose.get(robot);
    const question = { about: 'compose_logs', service, tail } as const;
    return { service, ...(await inquire(this.#questions, robot, question, composeLogsAnswer)) };
  }

  async #planned(
    robot: RobotRef,
    { id, version, content }: PlanComposeFileBody,
  ): Promise<Omit<Extract<Question, { about: 'compose_plan' }>, 'about'>> {
    if (content !== undefined) {
      this.#files.check(content);
      // Of no file: it has no id to be named by.
      return { id: '', version: 1, content };
    }
    const planned = await this.#files.atVersion(robot.tenantKey, id ?? '', version);
    return { id: planned.id, version: planned.version, content: planned.content };
  }
}
