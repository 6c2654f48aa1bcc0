/**
 * What a check of doctor is: it looks at one thing, changes nothing that lasts, and always ends with findings, whatever
 * the thing does: an error is a finding, and so is silence past the check's time.
 */

export type Status = 'ok' | 'warn' | 'fail';

export interface Finding {
  readonly status: Status;
  /** One line. May hold words of others (a server's, a program's): the report makes them safe to print. Never a token. */
  readonly message: string;
  /** What to do about it, a line each. */
  readonly remedy?: string;
}

export interface CheckResult extends Finding {
  readonly name: string;
}

export interface Check {
  readonly name: string;
  readonly timeoutMs: number;
  /** What it counts as when the check itself does not come to an end. */
  readonly severity: Exclude<Status, 'ok'>;
  /** `signal` aborts when the time is over: let go of sockets and processes then. */
  readonly run: (signal: AbortSignal) => Promise<readonly Finding[]>;
}

/** Runs a check to its end or to its time, whichever comes first. Never rejects. */
export async function runCheck(check: Check): Promise<readonly CheckResult[]> {
  const ending = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly Finding[]>((resolve) => {
    timer = setTimeout(() => {
      resolve([{ status: check.severity, message: `no answer within ${check.timeoutMs / 1000} s` }]);
    }, check.timeoutMs);
  });
  let findings: readonly Finding[];
  try {
    findings = await Promise.race([check.run(ending.signal), late]);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    findings = [{ status: check.severity, message: `could not be checked: ${reason}` }];
  } finally {
    clearTimeout(timer);
    ending.abort();
  }
  return findings.map((finding) => ({ name: check.name, ...finding }));
}

/** For what can't be looked at because something else is wrong, which has a finding of its own. */
export function notChecked(reason: string): readonly Finding[] {
  return [{ status: 'warn', message: `not checked: ${reason}` }];
}

/** The system's code of an error (`ENOENT`), or null. */
export function errorCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if ('code' in error && typeof error.code === 'string') return error.code;
  // A name with several addresses fails once for each.
  return error instanceof AggregateError ? errorCode(error.errors[0]) : null;
}
