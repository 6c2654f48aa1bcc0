/** Bytes that are no message of the type, or a value that can't be written as one. */
export class CdrError extends Error {
  override readonly name = 'CdrError';
  constructor(
    readonly type: string,
    readonly reason: string,
  ) {
    super(`${type}: ${reason}`);
  }
}
