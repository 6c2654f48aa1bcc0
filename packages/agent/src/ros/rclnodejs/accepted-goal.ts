import { setTimeout } from 'node:timers/promises';
import { decodeCdr } from '@drover/shared/ros/cdr';
import { type GoalHandle, RosTimeoutError, ServerGoneError } from '../graph.js';
import type { RclGoalHandle } from './api.js';
import { Unread } from './cdr-types.js';
import { type Connection, rosError } from './connection.js';
import { type GoalSchemas, goalStatus } from './goal-messages.js';
import { ServerWatch } from './server-watch.js';
import { abortable, withDeadline } from './waiting.js';

/** How long a server may take to answer a cancel request. */
const CANCEL_TIMEOUT_MS = 5000;
/**
 * How long a result is held back for the feedback sent before it: the two come by different ways, and rclnodejs takes
 * results first.
 */
const LAST_FEEDBACK_MS = 30;

/** A goal that its server has, followed to its end. */
export function followGoal(
  connection: Connection,
  schemas: GoalSchemas,
  goal: RclGoalHandle,
  name: string,
): GoalHandle {
  const result = resultOf(connection, schemas, goal, name);
  // Its caller may look at it later, or never.
  result.catch(() => {});
  return { result, cancel: () => cancelGoal(connection, goal, name) };
}

/** Whether the server agreed to end it. @throws RosTimeoutError | GraphStoppedError */
export async function cancelGoal({ stopped }: Connection, goal: RclGoalHandle, name: string): Promise<boolean> {
  stopped.throwIfAborted();
  const timeout = { timeoutMs: CANCEL_TIMEOUT_MS, reason: () => new RosTimeoutError(name, CANCEL_TIMEOUT_MS) };
  const answer = await withDeadline([stopped], timeout, (signal) => abortable(signal, goal.cancelGoal()));
  return answer.return_code === 0 && answer.goals_canceling.length > 0;
}

async function resultOf(
  connection: Connection,
  schemas: GoalSchemas,
  goal: RclGoalHandle,
  name: string,
): Promise<Awaited<GoalHandle['result']>> {
  const watch = new ServerWatch(connection, name);
  let answer: unknown;
  // Asked again of another server that appears in the place of the one that has gone.
  do answer = await watch.whileThere(goal.getResult());
  while (answer === 'another server');
  await abortable(connection.stopped, setTimeout(LAST_FEEDBACK_MS));
  if (!(answer instanceof Uint8Array)) {
    throw rosError(`the result of ${name} could not be read`, answer instanceof Unread ? answer.cause : answer);
  }
  let message: ReturnType<typeof decodeCdr>;
  try {
    message = decodeCdr(schemas.result, answer);
  } catch (cause) {
    throw rosError(`the result of ${name} could not be read`, cause);
  }
  const { status, result } = schemas.readResult(message);
  const word = goalStatus(status);
  // What a server says of a goal that it does not know.
  if (word === undefined) throw new ServerGoneError(name);
  return { status: word, result };
}
