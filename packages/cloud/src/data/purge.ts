import type { Db } from '../db/store.js';
import type { Purge } from '../robots/deletion.js';

const sourcesOf = (db: Db, robotKey: number) =>
  db.selectFrom('sources').select('key').where('robot_key', '=', robotKey);

/** What a deleted robot has sent, in the order in which it may go. Definitions stay: others may share them. */
export const DATA_PURGES: readonly Purge[] = [
  async (db, robotKey, rowsMax) => {
    const ids = db.selectFrom('points').select('id').where('source_key', 'in', sourcesOf(db, robotKey)).limit(rowsMax);
    return deleted(await db.deleteFrom('points').where('id', 'in', ids).executeTakeFirst());
  },
  async (db, robotKey, rowsMax) => {
    const ids = db.selectFrom('vitals').select('id').where('robot_key', '=', robotKey).limit(rowsMax);
    return deleted(await db.deleteFrom('vitals').where('id', 'in', ids).executeTakeFirst());
  },
  // From here on few rows each.
  async (db, robotKey) =>
    deleted(await db.deleteFrom('channels').where('source_key', 'in', sourcesOf(db, robotKey)).executeTakeFirst()),
  async (db, robotKey) => deleted(await db.deleteFrom('sources').where('robot_key', '=', robotKey).executeTakeFirst()),
  async (db, robotKey) =>
    deleted(await db.deleteFrom('latest_vitals').where('robot_key', '=', robotKey).executeTakeFirst()),
  async (db, robotKey) => deleted(await db.deleteFrom('spools').where('robot_key', '=', robotKey).executeTakeFirst()),
  async (db, robotKey) =>
    deleted(await db.deleteFrom('missing_rows').where('robot_key', '=', robotKey).executeTakeFirst()),
  async (db, robotKey) =>
    deleted(await db.deleteFrom('stream_status').where('robot_key', '=', robotKey).executeTakeFirst()),
  async (db, robotKey) => deleted(await db.deleteFrom('streams').where('robot_key', '=', robotKey).executeTakeFirst()),
];

function deleted(result: { numDeletedRows: bigint }): number {
  return Number(result.numDeletedRows);
}
