/** One field of a payload that does not fit its type. */
export interface PayloadIssue {
  /** Where, as `payload.poses[3].position.x`. */
  readonly path: string;
  readonly expected: string;
  readonly got: string;
}

/** Issues named at most, here and in the message; a payload with more is told so. */
export const PAYLOAD_ISSUES_MAX = 20;

/** A value that does not fit the type it is meant for, field by field. */
export class PayloadError extends Error {
  override readonly name = 'PayloadError';
  constructor(
    readonly issues: readonly PayloadIssue[],
    /** More than `issues` were found. */
    readonly truncated = false,
  ) {
    const lines = issues.map((issue) => `${issue.path}: expected ${issue.expected}, got ${issue.got}`);
    super(`${lines.join('; ')}${truncated ? '; and more' : ''}`);
  }
}
