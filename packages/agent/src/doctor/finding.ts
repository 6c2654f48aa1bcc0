/** What a check found. */
export interface Finding {
  readonly status: 'ok' | 'warn' | 'fail';
  readonly subject: string;
  readonly message: string;
  /** What to do about it; null where nothing is to be done. */
  readonly remedy: string | null;
}

export function ok(subject: string, message: string): Finding {
  return { status: 'ok', subject, message, remedy: null };
}

/** Something does not work as it should; the agent runs all the same. */
export function warn(subject: string, message: string, remedy: string): Finding {
  return { status: 'warn', subject, message, remedy };
}

/** The agent can't do its work like this. */
export function fail(subject: string, message: string, remedy: string): Finding {
  return { status: 'fail', subject, message, remedy };
}
