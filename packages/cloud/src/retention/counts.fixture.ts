import type { Database } from 'better-sqlite3';

export interface Counted {
  readonly key: number;
  readonly count: number;
  readonly first: number | null;
  readonly last: number | null;
}

/** What the store says that its sources hold. */
export function countersOf(raw: Database): Counted[] {
  return raw
    .prepare<[], Counted>(
      'SELECT key, point_count AS count, first_stamp_ms AS first, last_stamp_ms AS last FROM sources ORDER BY key',
    )
    .all();
}

/** What they hold, by counting. */
export function countsOf(raw: Database): Counted[] {
  return raw
    .prepare<[], Counted>(
      'SELECT source_key AS key, count(*) AS count, min(stamp_ms) AS first, max(stamp_ms) AS last ' +
        'FROM points GROUP BY source_key ORDER BY source_key',
    )
    .all();
}
