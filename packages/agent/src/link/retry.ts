import { CloseCode } from '@drover/shared/link/protocol';

/**
 * First wait between two attempts; it doubles to the cap, and each wait is drawn evenly from 0 to it (full jitter). The cap
 * keeps a promise: online within 15 s of the network's return. An attempt that began while nothing passed may be stuck
 * between two SYNs for 3 s more (1, 3 and 7 s after its begin, given up at 10 s), then comes one wait.
 */
export const RETRY_BASE_MS = 250;
export const RETRY_CAP_MS = 10_000;
/** A refused token rarely becomes right by itself; this often we look whether it has. */
export const RETRY_REFUSED_MS = 60_000;
/** Another agent took over with this robot's token. */
export const RETRY_REPLACED_MS = 5 * 60_000;
/** A cloud, or a proxy, that says when to come again is believed up to this. */
export const RETRY_AFTER_MAX_MS = 60_000;
/** A session that stood this long ends the doubling. */
export const SETTLED_AFTER_MS = 10_000;

/** Why there is no session (any more). */
export type LinkEnd =
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly reason: string;
      /** When it says we may come again, in seconds. */
      readonly retryAfterS?: number | null;
    }
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'closed'; readonly code: number; readonly reason: string }
  | { readonly kind: 'renew'; readonly reason: string };

export interface RetryPlan {
  readonly delayMs: number;
  readonly level: 'info' | 'warn' | 'error';
  /** What happened and, where a person can do something, what. */
  readonly message: string;
}

/**
 * When to try again after `end`, and what to say.
 * @param failures Attempts since the last settled session, this one included.
 * @param random From [0, 1).
 */
export function planRetry(end: LinkEnd, failures: number, random: number): RetryPlan {
  const backoffMs = random * Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** Math.min(failures - 1, 16));
  const spread = (ms: number) => ms * (0.9 + 0.2 * random);
  switch (end.kind) {
    case 'renew':
      return { delayMs: 0, level: 'info', message: `session is opened anew: ${end.reason}` };
    case 'unreachable':
      return { delayMs: backoffMs, level: 'warn', message: `cloud can not be reached: ${end.reason}` };
    case 'refused':
      return planRefused(end, { backoffMs, spread, random });
    case 'closed':
      return planClosed(end, backoffMs, spread);
  }
}

function planRefused(
  end: Extract<LinkEnd, { kind: 'refused' }>,
  { backoffMs, spread, random }: { backoffMs: number; spread: (ms: number) => number; random: number },
): RetryPlan {
  if (end.status === 401 || end.status === 403) {
    const message =
      `the cloud refuses the robot's token (${end.status}): it is wrong, was rotated, the robot was deleted, ` +
      'or the cloud was restored from a backup that is older than the token; ' +
      'give DROVER_TOKEN the token of POST /robots or POST /robots/{id}/token';
    return { delayMs: spread(RETRY_REFUSED_MS), level: 'error', message };
  }
  if (end.status === 409) {
    const message =
      "another agent is connected with this robot's token: stop it, or give this robot a token of its own";
    return { delayMs: spread(RETRY_REPLACED_MS), level: 'error', message };
  }
  if (end.status >= 300 && end.status < 400) {
    const message = `the cloud's address redirects (${end.status} ${end.reason}): put the new one into DROVER_URL`;
    return { delayMs: spread(RETRY_REFUSED_MS), level: 'error', message };
  }
  if (end.status === 404 || end.status === 400 || end.status === 426) {
    const message = `what answers at DROVER_URL is no Drover cloud, or a proxy in between takes no websockets (${end.status})`;
    return { delayMs: RETRY_CAP_MS, level: 'error', message };
  }
  // Never before, and spread: thousands may have been told the same second.
  const toldMs = Math.min(RETRY_AFTER_MAX_MS, (end.retryAfterS ?? 0) * 1000);
  const laterMs = random * Math.max(1000, toldMs / 5);
  return {
    delayMs: toldMs > 0 ? toldMs + laterMs : backoffMs,
    level: 'warn',
    message: `cloud does not take the session now (${end.status}${end.reason === '' ? '' : ` ${end.reason}`})`,
  };
}

function planClosed(
  end: { readonly code: number; readonly reason: string },
  backoffMs: number,
  spread: (ms: number) => number,
): RetryPlan {
  const words = end.reason === '' ? '' : `: ${end.reason}`;
  switch (end.code) {
    case CloseCode.replaced: {
      const message =
        "another agent connected with this robot's token and took over: this one tries again every 5 minutes; " +
        'stop one of them, or give this robot a token of its own';
      return { delayMs: spread(RETRY_REPLACED_MS), level: 'error', message };
    }
    case CloseCode.unsupportedVersion:
      return { delayMs: spread(RETRY_REFUSED_MS), level: 'error', message: `agent and cloud do not match${words}` };
    case CloseCode.revoked:
      return { delayMs: backoffMs, level: 'error', message: `the robot was deleted or its token rotated${words}` };
    case CloseCode.goingAway:
      return { delayMs: backoffMs, level: 'info', message: `cloud goes away${words}` };
    default:
      return { delayMs: backoffMs, level: 'warn', message: `session ended (${end.code}${words})` };
  }
}
