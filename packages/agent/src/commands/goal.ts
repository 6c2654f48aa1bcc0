import { toJson } from '@drover/shared/ros/to-json';
import type { GoalHandle, RosGraph } from '../ros/graph.js';
import { GraphStoppedError, ServerGoneError } from '../ros/graph.js';
import { FeedbackRelay } from './feedback.js';
import { type Ending, executed, failed, WrongKindError } from './outcome.js';
import { READY_TIMEOUT_MS, TIMED_OUT, within } from './perform.js';
import type { Prepared } from './prepare.js';

/** How long the server may take to accept or reject. */
const ACCEPT_TIMEOUT_MS = 10_000;
/** How long a goal that was cancelled for its timeout may take to end, so that its result is known. */
const CANCELLED_END_MS = 5_000;
/**
 * How long the server of a goal from before a restart is waited for: as long as it takes to give up one that vanishes
 * while the agent watches. One that comes up later has begun after the goal and does not know it.
 */
const FOUND_AGAIN_MS = 20_000;
/** How long the result of a goal whose time was over before it was found again may take: it has it, or it has not ended. */
const RESULT_AT_HAND_MS = 1_000;

export interface GoalOptions {
  readonly goalId: Uint8Array;
  readonly timeoutMs: number;
  /** Aborted: the goal shall be cancelled. */
  readonly cancel: AbortSignal;
  readonly onAccepted: () => void;
  readonly onFeedback: (feedback: unknown) => void;
}

export interface ResumeOptions extends GoalOptions {
  /** Absolute ROS name of the action. */
  readonly name: string;
  readonly type: string;
  /** How much of `timeoutMs` had passed before. */
  readonly spentMs: number;
}

type PreparedGoal = Extract<Prepared, { kind: 'action_send_goal' }>;
type GoalEnd = Awaited<GoalHandle['result']>;

/*
 * A goal's life on the robot. Its id is on disk before it is sent, and it is sent once: an agent that ends in any of these
 * states is in `finding` when it is started again.
 *
 *              accepted           cancel, or its time is over
 *     sending ----------> running ---------------------------> cancelling
 *        |                 |   ^ \_ feedback: told, no change _/    |
 *        | refused         |   | found                             |
 *        v    result, lost |   |                                   | result, lost,
 *      ended <-------------+ finding                               | or nothing in 5 s
 *        ^                     | lost                              |
 *        +---------------------+-----------------------------------+
 *
 * How it ends:
 *   refused   goal_rejected; action_server_not_ready (none in 5 s); timeout (no answer in 10 s; accepted later, it is
 *             cancelled); canceled (before there was a server; a cancel that comes later waits until it is accepted)
 *   result    executed, goal_aborted, goal_canceled, as the server says, also where a cancel came too late or was refused;
 *             one that was cancelled for its time and has not succeeded: timeout
 *   nothing   timeout: its time is over, it was cancelled and does not end
 *   lost      outcome_unknown: the server is gone for good, or does not know the goal (any more)
 */

/** Sends a goal and follows it to its end. @throws what sendGoal of the graph does */
export async function pursueGoal(graph: RosGraph, prepared: PreparedGoal, options: GoalOptions): Promise<Ending> {
  const deadlineMs = performance.now() + options.timeoutMs;
  const feedback = new FeedbackRelay(prepared.type.feedback, options.onFeedback);
  try {
    const handle = await graph.sendGoal({
      action: prepared.name,
      type: prepared.type.type,
      goalId: options.goalId,
      goal: prepared.goal,
      readyTimeoutMs: Math.min(READY_TIMEOUT_MS, options.timeoutMs),
      acceptTimeoutMs: Math.min(ACCEPT_TIMEOUT_MS, options.timeoutMs),
      signal: options.cancel,
      onFeedback: (message) => feedback.push(message),
    });
    options.onAccepted();
    const leftMs = () => Math.max(0, deadlineMs - performance.now());
    return await follow({ handle, type: prepared.type, feedback, leftMs, lost: serverLost }, options);
  } catch (error) {
    const isCancel = options.cancel.aborted && error === options.cancel.reason;
    if (isCancel) return failed('canceled', 'cancelled before it was sent');
    throw error;
  } finally {
    feedback.finish();
  }
}

/**
 * Follows a goal that an earlier run of the agent has sent, or was about to send, by its id alone. Ends as outcome_unknown
 * whatever keeps it from being found. @throws GraphStoppedError
 */
export async function resumeGoal(graph: RosGraph, options: ResumeOptions): Promise<Ending> {
  const { name, type: typeName, goalId, timeoutMs, spentMs } = options;
  const deadlineMs = performance.now() + timeoutMs - spentMs;
  const leftMs = () => Math.max(RESULT_AT_HAND_MS, deadlineMs - performance.now());
  let feedback: FeedbackRelay | undefined;
  try {
    const type = await graph.describe(typeName);
    if (type.kind !== 'action') throw new WrongKindError(typeName, type.kind, 'action');
    const relay = new FeedbackRelay(type.feedback, options.onFeedback);
    feedback = relay;
    const handle = await graph.resumeGoal({
      action: name,
      type: typeName,
      goalId,
      // Its time may be over: it is to be cancelled then, for which the server must be found, too.
      readyTimeoutMs: Math.min(FOUND_AGAIN_MS, Math.max(READY_TIMEOUT_MS, leftMs())),
      onFeedback: (message) => relay.push(message),
    });
    return await follow({ handle, type, feedback: relay, leftMs, lost: notFoundAgain }, options);
  } catch (error) {
    if (error instanceof GraphStoppedError) throw error;
    return failed('outcome_unknown', notFoundAgain(error), null, feedback?.finish() ?? null);
  } finally {
    feedback?.finish();
  }
}

interface Followed {
  readonly handle: GoalHandle;
  readonly type: PreparedGoal['type'];
  readonly feedback: FeedbackRelay;
  /** Milliseconds until it is out of time. */
  readonly leftMs: () => number;
  /** What to say where how it ended can't be found out. */
  readonly lost: (error: unknown) => string;
}

/** From `running` to the end. @throws GraphStoppedError */
async function follow(goal: Followed, options: GoalOptions): Promise<Ending> {
  const { handle, type, feedback } = goal;
  const stopCancelling = cancelOnAbort(handle, options.cancel);
  try {
    const end = await within(handle.result, goal.leftMs());
    if (end === TIMED_OUT) return await timeOut(goal, options.timeoutMs);
    return endingOf(end, type, feedback.finish());
  } catch (error) {
    if (error instanceof GraphStoppedError) throw error;
    return failed('outcome_unknown', goal.lost(error), null, feedback.finish());
  } finally {
    stopCancelling();
  }
}

function serverLost(error: unknown): string {
  return `the goal ran, then its server was lost: ${reasonOf(error)}`;
}

/** A server that does not know the goal may have been restarted or have forgotten it; or the goal was never sent. */
function notFoundAgain(error: unknown): string {
  const isUnknown = error instanceof ServerGoneError;
  const reason = isUnknown ? `its server does not know it (any more), or is gone: ${error.action}` : reasonOf(error);
  return `the agent was restarted while the goal ran, or right before it was sent; ${reason}`;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function cancelOnAbort(handle: GoalHandle, signal: AbortSignal): () => void {
  // A server that refuses the cancel lets the goal go on: its end is told as it comes.
  const cancel = () => void handle.cancel().catch(() => {});
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
}

/** Out of time: cancels the goal on the robot, and tells what came of that. */
async function timeOut({ handle, type, feedback }: Followed, timeoutMs: number): Promise<Ending> {
  const cancelling = handle.cancel().catch(() => false);
  const end = await within(handle.result, CANCELLED_END_MS);
  const late = `the goal did not end within ${timeoutMs / 1000} s`;
  if (end === TIMED_OUT) {
    const agreed = await within(cancelling, 0);
    const words = agreed === true ? 'it was cancelled and has not ended yet' : 'the server did not take the cancel';
    return failed('timeout', `${late}; ${words}`, null, feedback.finish());
  }
  if (end.status === 'succeeded') return endingOf(end, type, feedback.finish());
  return failed('timeout', `${late}; it was cancelled`, toJson(type.result, end.result), feedback.finish());
}

function endingOf(end: GoalEnd, type: PreparedGoal['type'], feedback: unknown): Ending {
  const result = toJson(type.result, end.result);
  switch (end.status) {
    case 'succeeded':
      return executed(result, null, feedback);
    case 'canceled':
      return failed('goal_canceled', 'the goal was cancelled', result, feedback);
    case 'aborted':
      return failed('goal_aborted', 'the server aborted the goal', result, feedback);
  }
}
