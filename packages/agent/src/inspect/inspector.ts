import {
  ANSWER_ERROR,
  ANSWER_LENGTH_MAX,
  type CheckAnswer,
  type GraphAnswer,
  type InterfaceAnswer,
} from '@drover/shared/link/answers';
import type { ComposeLogsAnswer, ComposePlanAnswer } from '@drover/shared/link/compose-answers';
import type { Answer, Query, Question } from '@drover/shared/link/query';
import type { InterfaceDefinition, MessageSchema } from '@drover/shared/ros/definitions';
import type { Logger } from 'pino';
import { UnknownServiceError } from '../compose/docker/logs.js';
import type { ComposeQuestions } from '../compose/questions.js';
import { UnknownTypeError } from '../ros/graph.js';
import { type CheckParts, checkCommand } from './check.js';

type Result = GraphAnswer | InterfaceAnswer | CheckAnswer | ComposePlanAnswer | ComposeLogsAnswer;

/** Questions answered at once; one more is refused. The cloud asks fewer. */
export const ANSWERS_UNDER_WAY_MAX = 16;

/**
 * Answers the cloud's questions about this robot's ROS graph and its compose deployments. Only looks: nothing is made, sent or kept for a question, and
 * one that is lost on the way is asked again by whoever wants to know.
 */
export class Inspector {
  readonly #parts: CheckParts;
  readonly #compose: Pick<ComposeQuestions, 'plan' | 'logs'>;
  readonly #log: Logger;
  #underWay = 0;

  constructor({
    log,
    compose,
    ...parts
  }: CheckParts & { readonly compose: Pick<ComposeQuestions, 'plan' | 'logs'>; readonly log: Logger }) {
    this.#parts = parts;
    this.#compose = compose;
    this.#log = log.child({ part: 'inspect' });
  }

  /** Never rejects: what goes wrong is an answer, too. */
  async answer({ id, question }: Query): Promise<Answer> {
    if (this.#underWay >= ANSWERS_UNDER_WAY_MAX) {
      return refusal(id, ANSWER_ERROR.busy, `${ANSWERS_UNDER_WAY_MAX} questions are being answered already`);
    }
    this.#underWay += 1;
    try {
      const result = await this.#result(question);
      const length = JSON.stringify(result).length;
      if (length <= ANSWER_LENGTH_MAX) return { kind: 'answer', id, result, error: null };
      const message = `the answer is ${length} characters long, at most ${ANSWER_LENGTH_MAX} are sent`;
      return refusal(id, ANSWER_ERROR.tooLarge, message);
    } catch (error) {
      if (error instanceof UnknownServiceError) return refusal(id, ANSWER_ERROR.unknownService, error.message);
      if (error instanceof UnknownTypeError) return refusal(id, ANSWER_ERROR.unknownType, error.message);
      this.#log.warn({ err: error, about: question.about }, 'a question could not be answered');
      return refusal(
        id,
        ANSWER_ERROR.failed,
        error instanceof Error ? `${error.name}: ${error.message}` : String(error),
      );
    } finally {
      this.#underWay -= 1;
    }
  }

  async #result(question: Question): Promise<Result> {
    switch (question.about) {
      case 'graph':
        return await this.#parts.graph.survey();
      case 'interface':
        return interfaceAnswer(await this.#parts.graph.describe(question.type));
      case 'check':
        return { checks: await checkCommand(this.#parts, question) };
      case 'compose_plan':
        return await this.#compose.plan(question.content);
      case 'compose_logs':
        return await this.#compose.logs(question);
    }
  }
}

function interfaceAnswer(definition: InterfaceDefinition): InterfaceAnswer {
  const { type } = definition;
  switch (definition.kind) {
    case 'msg':
      return { kind: 'msg', type, message: part(definition.message) };
    case 'srv':
      return { kind: 'srv', type, request: part(definition.request), response: part(definition.response) };
    case 'action':
      return {
        kind: 'action',
        type,
        goal: part(definition.goal),
        result: part(definition.result),
        feedback: part(definition.feedback),
      };
  }
}

function part({ type, text }: MessageSchema): { type: string; text: string } {
  return { type, text };
}

function refusal(id: string, code: string, message: string): Answer {
  return { kind: 'answer', id, result: null, error: { code, message: message.slice(0, 4096) } };
}
