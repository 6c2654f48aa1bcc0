import type { DropCount } from '../spool/rows.js';
import { type DropReason, DropReason as Reason } from '../spool/rows.js';

/** For so long a drop is worth a word; a stream slower than its counters are read would else say it by turns. */
export const DROPPING_MS = 60_000;

const REMEDIES: Partial<Record<DropReason, string>> = {
  [Reason.tooLarge]: 'messages above max_message_bytes are dropped: raise max_message_bytes (PATCH …/options)',
  [Reason.tooOld]:
    'messages that waited longer than max_age_s (of the stream) or DROVER_SPOOL_MAX_AGE_DAYS (of the agent) are dropped: raise it, or sample at a lower hz',
  [Reason.diskRefused]: 'messages are dropped, for the disk takes no writes: make room on it (drover-agent doctor)',
  [Reason.overrun]:
    'messages are lost before they are taken, for the machine is too busy or its disk too slow: sample at a lower hz',
};

/**
 * Notices which streams lose messages now. The counters are of all times; only where one has grown since it was last read is
 * something wrong today. Holds one entry a source that ever dropped.
 */
export class Dropping {
  #rows: Map<string, number> | null = null;
  readonly #latest = new Map<string, { readonly reason: DropReason; readonly atMs: number }>();

  /** @param counts everything ever dropped; the first are those of agents before this one */
  read(counts: readonly DropCount[], nowMs: number): void {
    const before = this.#rows;
    this.#rows = new Map(counts.map(({ source, reason, rows }) => [`${reason} ${source}`, rows]));
    if (!before) return;
    for (const { source, reason, rows } of counts) {
      if (rows > (before.get(`${reason} ${source}`) ?? 0)) this.#latest.set(source, { reason, atMs: nowMs });
    }
  }

  /** What to do about what a stream lost within DROPPING_MS; null where it lost nothing, or nothing can be done. */
  remedy(source: string, nowMs: number): string | null {
    const latest = this.#latest.get(source);
    if (!latest || nowMs - latest.atMs >= DROPPING_MS) return null;
    return REMEDIES[latest.reason] ?? null;
  }
}
