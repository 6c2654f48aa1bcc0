import type { Purge } from '../robots/deletion.js';

/** What a deleted robot was told to do. */
export const COMMAND_PURGES: readonly Purge[] = [
  async (db, robotKey, rowsMax) => {
    const keys = db.selectFrom('commands').select('key').where('robot_key', '=', robotKey).limit(rowsMax);
    return Number((await db.deleteFrom('commands').where('key', 'in', keys).executeTakeFirst()).numDeletedRows);
  },
  async (db, robotKey) =>
    Number((await db.deleteFrom('inboxes').where('robot_key', '=', robotKey).executeTakeFirst()).numDeletedRows),
];
