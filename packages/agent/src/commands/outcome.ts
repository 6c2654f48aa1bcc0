import type { AgentErrorCode, CommandOutcome } from '@drover/shared/link/command';
import { CdrError } from '@drover/shared/ros/cdr';
import { DefinitionError } from '@drover/shared/ros/definitions';
import { PayloadError } from '@drover/shared/ros/from-json';
import { NotAllowedError } from '../policy/policy.js';
import {
  GoalRejectedError,
  GraphStoppedError,
  NotReadyError,
  QuarantinedError,
  RosTimeoutError,
  UnknownTypeError,
} from '../ros/graph.js';

/** How a command ended, before it is a message with a uuid and a time. */
export type Ending = Pick<CommandOutcome, 'state' | 'error_code' | 'message' | 'result' | 'feedback'>;

/** A result or a feedback whose JSON is longer than this is left out of the outcome. */
export const RESULT_BYTES_MAX = 1024 * 1024;

const MESSAGE_LENGTH_MAX = 4096;

export function executed(result: unknown, message: string | null = null, feedback: unknown = null): Ending {
  return { state: 'executed', error_code: null, message, result, feedback };
}

export function failed(
  code: AgentErrorCode,
  message: string,
  result: unknown = null,
  feedback: unknown = null,
): Ending {
  return { state: 'error', error_code: code, message, result, feedback };
}

/**
 * The ending that an error means; null where the agent is stopping: the command then keeps its state on disk, and the
 * next start of the agent tells what is known.
 *
 * Permanent: the types and payloads that are wrong, a rejected goal. Transient: nothing had an effect yet (not ready).
 * Ambiguous: no answer in time; the server may have acted, so it is never tried again by itself.
 */
export function failureOf(error: unknown): Ending | null {
  if (error instanceof GraphStoppedError) return null;
  if (error instanceof NotAllowedError) return failed('not_allowed', error.message);
  if (error instanceof UnknownTypeError) return failed('invalid_type', error.message);
  if (error instanceof DefinitionError) return failed('invalid_type', error.message);
  if (error instanceof WrongKindError) return failed('invalid_type', error.message);
  if (error instanceof PayloadError) return failed('invalid_payload', error.message);
  if (error instanceof CdrError) return failed('invalid_payload', `payload can not be encoded: ${error.message}`);
  if (error instanceof GoalRejectedError) return failed('goal_rejected', error.message);
  if (error instanceof RosTimeoutError) return failed('timeout', error.message);
  if (error instanceof NotReadyError) {
    return failed(error.server === 'service' ? 'service_not_ready' : 'action_server_not_ready', error.message);
  }
  if (error instanceof QuarantinedError) return failed('internal_error', error.message);
  return failed('internal_error', error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}

/** The type is there, but it is of another kind than the interface takes. */
export class WrongKindError extends Error {
  override readonly name = 'WrongKindError';
  constructor(
    readonly type: string,
    readonly kind: string,
    readonly wanted: string,
  ) {
    super(`${type} is a ${kind} type, the interface takes a ${wanted} type`);
  }
}

/** The message that tells an ending; what is too large for it is left out, and said. */
export function outcomeMessage(uuid: string, ending: Ending, finishedMs: number): CommandOutcome {
  const remarks = ending.message === null ? [] : [ending.message];
  const bounded = (what: string, value: unknown): unknown => {
    const bytes = Buffer.byteLength(JSON.stringify(value) ?? '');
    if (bytes <= RESULT_BYTES_MAX) return value;
    remarks.push(`the ${what} is left out: ${bytes} bytes of JSON, at most ${RESULT_BYTES_MAX} are kept`);
    return null;
  };
  const result = bounded('result', ending.result);
  const feedback = bounded('feedback', ending.feedback);
  const message = remarks.length === 0 ? null : cut(remarks.join('; '));
  return { kind: 'command_outcome', uuid, ...ending, message, result, feedback, finished_robot_ms: finishedMs };
}

function cut(text: string): string {
  return text.length <= MESSAGE_LENGTH_MAX ? text : `${text.slice(0, MESSAGE_LENGTH_MAX - 1)}…`;
}
