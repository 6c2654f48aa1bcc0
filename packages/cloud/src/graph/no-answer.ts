/** Why a robot gave no answer to a question. */
export type NoAnswerReason =
  /** It has no session, or that ended before the answer. */
  | 'offline'
  /** Its agent does not know questions. */
  | 'too_old'
  /** Too many questions wait for answers already. */
  | 'busy'
  | 'timeout';

export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
  constructor(
    readonly reason: NoAnswerReason,
    message: string,
  ) {
    super(message);
  }
}
