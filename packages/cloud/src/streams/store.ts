import type { Db } from '../db/store.js';

/** A robot's streams with what is kept of their sources, oldest first. */
export function streamsOfRobot(db: Db, robotKey: number) {
  return db
    .selectFrom('streams')
    .leftJoin('sources', (join) =>
      join.onRef('sources.robot_key', '=', 'streams.robot_key').onRef('sources.name', '=', 'streams.source'),
    )
    .select(['streams.uuid', 'streams.source', 'streams.type', 'streams.hz', 'streams.enabled'])
    .select(['streams.created_at_ms', 'sources.first_stamp_ms', 'sources.last_stamp_ms', 'sources.point_count'])
    .where('streams.robot_key', '=', robotKey)
    .orderBy('streams.key');
}
