import { toJson } from '@drover/shared/ros/to-json';
import type { GoalHandle, RosGraph } from '../ros/graph.js';
import { GraphStoppedError } from '../ros/graph.js';
import { FeedbackRelay } from './feedback.js';
import { type Ending, executed, failed } from './outcome.js';
import { READY_TIMEOUT_MS, TIMED_OUT, within } from './perform.js';
import type { Prepared } from './prepare.js';

/** How long the server may take to accept or reject. */
const ACCEPT_TIMEOUT_MS = 10_000;
/** How long a goal that was cancelled for its timeout may take to end, so that its result is known. */
const CANCELLED_END_MS = 5_000;

export interface GoalOptions {
  readonly goalId: Uint8Array;
  readonly timeoutMs: number;
  /** Aborted: the goal shall be cancelled. */
  readonly cancel: AbortSignal;
  readonly onAccepted: () => void;
  readonly onFeedback: (feedback: unknown) => void;
}

type PreparedGoal = Extract<Prepared, { kind: 'action_send_goal' }>;
type GoalEnd = Awaited<GoalHandle['result']>;

/**
 * Sends a goal and follows it to its end:
 *
 *     sending --accepted--> running --cancel--> cancelling --+--> ended
 *        |                     +-----------timeout-----------+
 *        +--rejected, no server, no answer----------------------> ended
 *
 * A cancel that comes before there is a server ends it there; one that comes once the goal is on its way is passed on
 * when it is accepted. What the server says in the end is the outcome, also after a cancel it came too late for.
 */
export async function pursueGoal(graph: RosGraph, prepared: PreparedGoal, options: GoalOptions): Promise<Ending> {
  const deadline = performance.now() + options.timeoutMs;
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
    const stopCancelling = cancelOnAbort(handle, options.cancel);
    try {
      const end = await within(handle.result, Math.max(0, deadline - performance.now()));
      if (end === TIMED_OUT) return await timeOut(handle, prepared, options.timeoutMs, feedback);
      return endingOf(end, prepared, feedback.finish());
    } catch (error) {
      if (error instanceof GraphStoppedError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      return failed('outcome_unknown', `the goal ran, then its server was lost: ${reason}`, null, feedback.finish());
    } finally {
      stopCancelling();
    }
  } catch (error) {
    const isCancel = options.cancel.aborted && error === options.cancel.reason;
    if (isCancel) return failed('canceled', 'cancelled before it was sent');
    throw error;
  } finally {
    feedback.finish();
  }
}

function cancelOnAbort(handle: GoalHandle, signal: AbortSignal): () => void {
  // A server that refuses the cancel lets the goal go on: its end is told as it comes.
  const cancel = () => void handle.cancel().catch(() => {});
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
}

/** Out of time: cancels the goal on the robot, and tells what came of that. */
async function timeOut(
  handle: GoalHandle,
  prepared: PreparedGoal,
  timeoutMs: number,
  feedback: FeedbackRelay,
): Promise<Ending> {
  const cancelling = handle.cancel().catch(() => false);
  const end = await within(handle.result, CANCELLED_END_MS);
  const late = `the goal did not end within ${timeoutMs / 1000} s`;
  if (end === TIMED_OUT) {
    const agreed = await within(cancelling, 0);
    const words = agreed === true ? 'it was cancelled and has not ended yet' : 'the server did not take the cancel';
    return failed('timeout', `${late}; ${words}`, null, feedback.finish());
  }
  if (end.status === 'succeeded') return endingOf(end, prepared, feedback.finish());
  const result = toJson(prepared.type.result, end.result);
  return failed('timeout', `${late}; it was cancelled`, result, feedback.finish());
}

function endingOf(end: GoalEnd, prepared: PreparedGoal, feedback: unknown): Ending {
  const result = toJson(prepared.type.result, end.result);
  switch (end.status) {
    case 'succeeded':
      return executed(result, null, feedback);
    case 'canceled':
      return failed('goal_canceled', 'the goal was cancelled', result, feedback);
    case 'aborted':
      return failed('goal_aborted', 'the server aborted the goal', result, feedback);
  }
}
