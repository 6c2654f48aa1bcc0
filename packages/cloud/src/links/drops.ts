/**
 * What robots had to drop, by spool: one truth for a stream's status and for a robot's link. A robot tells counts that only grow, per
 * spool; told late, twice or out of order, the largest counts.
 */
import type { SourceDrop } from '@drover/shared/link/link-status';
import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../db/store.js';

/** Counts kept of a robot; above it, only those that are there grow: a robot gone mad must not fill the store. */
const ROBOT_COUNTS_MAX = 5000;

/** Adds up what every spool of the robot dropped, by source and reason; of one source where it is given. */
export function dropsOf(db: Db, robotKey: number, source?: string) {
  return db
    .selectFrom('spool_drops')
    .select(['source', 'reason'])
    .select([totalOf(sql.ref('rows')).as('rows'), totalOf(sql.ref('bytes')).as('bytes')])
    .where('robot_key', '=', robotKey)
    .$if(source !== undefined, (query) => query.where('source', '=', source ?? ''))
    .groupBy(['source', 'reason'])
    .orderBy('source')
    .orderBy('reason');
}

/** Keeps what a spool is told to have dropped. The caller has seen that the robot is there. */
export async function keepDrops(
  tx: Tx,
  robotKey: number,
  spoolId: string,
  drops: readonly SourceDrop[],
): Promise<void> {
  let room: number | undefined;
  for (const { source, reason, rows, bytes } of drops) {
    const { numUpdatedRows } = await tx
      .updateTable('spool_drops')
      .set({ rows: larger('rows', rows), bytes: larger('bytes', bytes) })
      .where('robot_key', '=', robotKey)
      .where('source', '=', source)
      .where('reason', '=', reason)
      .where('spool_id', '=', spoolId)
      .executeTakeFirst();
    if (numUpdatedRows > 0n) continue;
    room ??= ROBOT_COUNTS_MAX - (await countsOf(tx, robotKey));
    if (room <= 0) continue;
    room -= 1;
    await tx
      .insertInto('spool_drops')
      .values({ robot_key: robotKey, spool_id: spoolId, source, reason, rows, bytes })
      .execute();
  }
}

async function countsOf(tx: Tx, robotKey: number): Promise<number> {
  const { count } = await tx
    .selectFrom('spool_drops')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('robot_key', '=', robotKey)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** A sum that is never too large for an integer: a sum() of absurd counts would fail, and with it every read. */
export function totalOf(counts: RawBuilder<unknown>) {
  return sql<number>`min(total(${counts}), ${Number.MAX_SAFE_INTEGER})`;
}

function larger(column: 'rows' | 'bytes', told: number) {
  return sql<number>`CASE WHEN ${sql.ref(column)} < ${told} THEN ${told} ELSE ${sql.ref(column)} END`;
}
