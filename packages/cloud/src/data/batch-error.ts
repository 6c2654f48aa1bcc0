/** Why a batch was refused. Nothing of it was stored, and nothing acknowledged. */
export const BatchRefusal = {
  /** Rows between the mark and the batch are missing: one before it was refused. The robot sends from the mark in its next session. */
  gap: 'gap',
  /** A channel names a definition that was never sent. The robot sends definitions anew with its next session. */
  unknownSchema: 'unknown_schema',
  /** A definition whose hash is not its own, or a row of a channel that the batch does not list. The robot's fault. */
  malformed: 'malformed',
  /** The robot was deleted. Permanent. */
  robotGone: 'robot_gone',
  /** Too many bytes wait for the disk already. Try again later. */
  overloaded: 'overloaded',
  /** The cloud is stopping. Try again later. */
  stopping: 'stopping',
} as const;
export type BatchRefusal = (typeof BatchRefusal)[keyof typeof BatchRefusal];

export class BatchError extends Error {
  override readonly name = 'BatchError';
  constructor(
    readonly refusal: BatchRefusal,
    message: string,
  ) {
    super(message);
  }
}
