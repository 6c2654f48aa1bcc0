import { sql } from 'kysely';
import type { Db } from '../db/store.js';
import { totalOf } from './drops.js';

/** What the robot had delivered and this store does not have. */
export function missingOf(db: Db, robotKey: number) {
  return db
    .selectFrom('missing_rows')
    .select((select) => [
      totalOf(sql`last_seq - first_seq + 1`).as('rows'),
      select.fn.max('found_at_ms').as('found_at_ms'),
    ])
    .where('robot_key', '=', robotKey);
}

/** A robot with what is known of its link; before the first session the link's columns are null. */
export function robotWithLink(db: Db, robotKey: number) {
  return db
    .selectFrom('robots')
    .leftJoin('robot_links as link', 'link.robot_key', 'robots.key')
    .select(['robots.online', 'robots.online_updated_at_ms'])
    .select(['link.link_version', 'link.sessions', 'link.connected_at_ms', 'link.ended_at_ms', 'link.ending'])
    .select(['link.clock_offset_ms', 'link.clock_uncertainty_ms', 'link.clock_measured_at_ms'])
    .select(['link.spool_rows', 'link.spool_bytes', 'link.spool_bytes_max', 'link.spool_oldest_ms'])
    .select(['link.spool_storage', 'link.reported_at_ms'])
    .where('robots.key', '=', robotKey);
}
