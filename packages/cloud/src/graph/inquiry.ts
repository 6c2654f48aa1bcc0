import { ApiError } from '@drover/shared/api/errors';
import { ANSWER_ERROR } from '@drover/shared/link/answers';
import type { Answer, Question } from '@drover/shared/link/query';
import type { z } from 'zod';
import type { RobotRef } from '../robots/robots.js';
import { NoAnswerError } from './no-answer.js';

/** Where robots can be asked something. */
export interface RobotQuestions {
  /** @throws NoAnswerError */
  ask(robotKey: number, question: Question): Promise<Answer>;
}

const UNKNOWN: ReadonlySet<string> = new Set([ANSWER_ERROR.unknownType, ANSWER_ERROR.unknownService]);

/** A client told that too many questions wait should not ask again at once. */
const BUSY_RETRY_S = 1;

/**
 * What the robot answers, checked against the form of its answer.
 * @throws ApiError unavailable where there is no answer, rate_limited where too many wait, not_found for an unknown type or service
 */
export async function inquire<T>(
  questions: RobotQuestions,
  robot: RobotRef,
  question: Question,
  form: z.ZodType<T>,
): Promise<T> {
  const { result, error } = await asked(questions, robot, question);
  if (error && UNKNOWN.has(error.code)) throw new ApiError('not_found', `robot ${robot.id}: ${error.message}`);
  if (error?.code === ANSWER_ERROR.busy) throw busy(robot, error.message);
  if (error) throw new ApiError('unavailable', `robot ${robot.id} could not answer: ${error.message}`);
  const checked = form.safeParse(result);
  if (checked.success) return checked.data;
  throw new ApiError('unavailable', `robot ${robot.id} answered with what this cloud does not understand`, {
    cause: checked.error,
  });
}

async function asked(questions: RobotQuestions, robot: RobotRef, question: Question): Promise<Answer> {
  try {
    return await questions.ask(robot.key, question);
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error;
    if (error.reason === 'busy') throw busy(robot, error.message);
    throw new ApiError('unavailable', `robot ${robot.id} can not be asked: ${error.message}`, { cause: error });
  }
}

function busy(robot: RobotRef, message: string): ApiError {
  return new ApiError('rate_limited', `robot ${robot.id}: ${message}`, { retryAfterS: BUSY_RETRY_S });
}
