import type { Purge } from '../robots/deletion.js';

/** What a deleted robot should run, and what it told of it. */
export const COMPOSE_PURGES: readonly Purge[] = [
  async (db, robotKey) =>
    Number((await db.deleteFrom('compose_status').where('robot_key', '=', robotKey).executeTakeFirst()).numDeletedRows),
  async (db, robotKey) =>
    Number((await db.deleteFrom('robot_compose').where('robot_key', '=', robotKey).executeTakeFirst()).numDeletedRows),
];
