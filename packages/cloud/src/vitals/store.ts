import type { Db } from '../db/store.js';

/** A robot's vitals, newest first by stamp, then by arrival. */
export function vitalsOfRobot(db: Db, robotKey: number, page: { offset: number; limit: number }) {
  return db
    .selectFrom('vitals')
    .select(['id', 'stamp_ms', 'cpu', 'battery', 'ram', 'disk'])
    .where('robot_key', '=', robotKey)
    .orderBy('stamp_ms', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit)
    .offset(page.offset);
}
