import type { LogConfig, UpdateLogConfigBody } from '@drover/shared/api/logs';
import type { Store } from '../db/store.js';
import type { DesiredState } from '../desired/desired.js';
import type { RobotRef } from '../robots/robots.js';

/** Where ROS nodes log, and the source that log collection fills. */
export const LOG_SOURCE = '/rosout';

export class Logs {
  readonly #store: Store;
  readonly #desired: DesiredState;

  constructor(options: { store: Store; desired: DesiredState }) {
    this.#store = options.store;
    this.#desired = options.desired;
  }

  async config(robot: RobotRef): Promise<LogConfig> {
    const row = await this.#store.db
      .selectFrom('robots')
      .leftJoin('sources', (join) =>
        join.onRef('sources.robot_key', '=', 'robots.key').on('sources.name', '=', LOG_SOURCE),
      )
      .select(['robots.logs_enabled', 'sources.first_stamp_ms', 'sources.last_stamp_ms', 'sources.point_count'])
      .where('robots.key', '=', robot.key)
      .executeTakeFirstOrThrow();
    return {
      enabled: row.logs_enabled === 1,
      first_recording: row.first_stamp_ms === null ? null : new Date(row.first_stamp_ms).toISOString(),
      last_recording: row.last_stamp_ms === null ? null : new Date(row.last_stamp_ms).toISOString(),
      num_recordings: row.point_count ?? 0,
    };
  }

  async configure(robot: RobotRef, body: UpdateLogConfigBody): Promise<void> {
    await this.#desired.change(robot.key, (tx) =>
      tx
        .updateTable('robots')
        .set({
          ...(body.enabled === undefined ? {} : { logs_enabled: body.enabled ? 1 : 0 }),
          ...(body.min_level === undefined ? {} : { logs_min_level: body.min_level }),
        })
        .where('key', '=', robot.key)
        .execute(),
    );
  }
}
