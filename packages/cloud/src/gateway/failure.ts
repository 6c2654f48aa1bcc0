import { CloseCode } from '@drover/shared/link/protocol';
import { BatchError, type BatchRefusal } from '../data/batch-error.js';
import { storeTrouble } from '../db/errors.js';
import { RobotGoneError } from '../robots/robot-gone.js';

/** Batches that will be refused each time they come are the robot's fault; the others may be sent again as they are. */
const CODE_OF_REFUSAL = {
  gap: CloseCode.badMessage,
  unknown_schema: CloseCode.badMessage,
  malformed: CloseCode.badMessage,
  robot_gone: CloseCode.revoked,
  overloaded: CloseCode.internalError,
  stopping: CloseCode.goingAway,
} as const satisfies Record<BatchRefusal, CloseCode>;

/**
 * How a session ends over an error. `ours`: nothing that a robot or a deletion brings about, so it belongs in the log as an
 * error and its words are not for the robot.
 */
export function endingOf(error: unknown): { code: CloseCode; reason: string; ours: boolean } {
  if (error instanceof BatchError) return { code: CODE_OF_REFUSAL[error.refusal], reason: error.message, ours: false };
  if (error instanceof RobotGoneError) {
    return { code: CloseCode.revoked, reason: 'this robot was deleted', ours: false };
  }
  const trouble = storeTrouble(error);
  if (trouble !== null) {
    const reason = `the cloud's store takes nothing now: ${trouble.why}; what it has not acknowledged stays here`;
    return { code: CloseCode.internalError, reason, ours: false };
  }
  return { code: CloseCode.internalError, reason: 'the cloud could not handle this; try again', ours: true };
}
