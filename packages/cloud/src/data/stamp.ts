/** A robot's clock is taken as it is while it is this close to ours. */
const CLOCK_OFFSET_IGNORED_MS = 1000;
/** 9999-12-31T23:59:59.999Z, the last moment that RFC 3339 can write. */
const STAMP_MS_MAX = 253_402_300_799_999;

export interface Stamps {
  /** What the API shows and sorts by. */
  readonly stampMs: number;
  /** The robot's own, where it differs. */
  readonly robotStampMs: number | null;
}

/**
 * The stamp of a row: the robot's clock, corrected where its offset is more than a second. A clock that yields no date
 * (before 1970, after 9999) yields to the time of receipt.
 */
export function stampsOf(robotStampMs: number, offsetMs: number | undefined, receivedMs: number): Stamps {
  const own = Math.floor(robotStampMs);
  const correction = offsetMs !== undefined && Math.abs(offsetMs) > CLOCK_OFFSET_IGNORED_MS ? offsetMs : 0;
  const corrected = Math.floor(robotStampMs + correction);
  const stampMs = corrected >= 0 && corrected <= STAMP_MS_MAX ? corrected : Math.floor(receivedMs);
  if (own === stampMs) return { stampMs, robotStampMs: null };
  const bounded = Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, own));
  return { stampMs, robotStampMs: bounded };
}
