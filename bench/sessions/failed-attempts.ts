import type { FleetEvent } from '#test/network/fleet-process';

/** Nobody listened yet: it says nothing of the gateway that came up. */
const NOBODY_LISTENS = 'ECONNREFUSED';

/** Attempts to open a session that came to nothing, once the gateway listened. */
export interface FailedAttempts {
  /** Refused with a time at which to come again: as it is meant. */
  readonly told: number;
  /** Given up after the agent's 10 s, or refused without a time, or broken off. */
  readonly untold: number;
  /** How many of those ended so, in the agents' words. */
  readonly by: Readonly<Record<string, number>>;
}

export function failedAttempts(events: readonly FleetEvent[], sinceMs: number): FailedAttempts {
  const failed = events.filter(({ event, at, why = '' }) => {
    return event === 'failed' && at >= sinceMs && !why.includes(NOBODY_LISTENS);
  });
  const untold = failed.filter(({ retryAfterS }) => retryAfterS === undefined);
  const by: Record<string, number> = {};
  for (const { why = 'no word' } of untold) by[why] = (by[why] ?? 0) + 1;
  return { told: failed.length - untold.length, untold: untold.length, by };
}
