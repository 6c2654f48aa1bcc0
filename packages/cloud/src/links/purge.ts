import type { Purge } from '../robots/deletion.js';

/** How a deleted robot was connected, and what it had dropped. */
export const LINK_PURGES: readonly Purge[] = [
  async (db, robotKey) =>
    Number((await db.deleteFrom('robot_links').where('robot_key', '=', robotKey).executeTakeFirst()).numDeletedRows),
  async (db, robotKey) =>
    Number((await db.deleteFrom('spool_drops').where('robot_key', '=', robotKey).executeTakeFirst()).numDeletedRows),
];
