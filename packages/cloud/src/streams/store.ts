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

/** One stream with what its robot last told of it; nothing told: the status columns are null. */
export function streamWithStatus(db: Db, robotKey: number, source: string) {
  return db
    .selectFrom('streams')
    .innerJoin('robots', 'robots.key', 'streams.robot_key')
    .leftJoin('stream_status', (join) =>
      join
        .onRef('stream_status.robot_key', '=', 'streams.robot_key')
        .onRef('stream_status.source', '=', 'streams.source'),
    )
    .select(['streams.source', 'streams.enabled', 'streams.hz', 'streams.max_message_bytes', 'streams.max_age_s'])
    .select('robots.online')
    .select(['stream_status.state', 'stream_status.message', 'stream_status.publishers', 'stream_status.rate_hz'])
    .select(['stream_status.receiving_since_ms', 'stream_status.last_message_ms'])
    .select('stream_status.reported_at_ms')
    .where('streams.robot_key', '=', robotKey)
    .where('streams.source', '=', source);
}
