/** The rules of streams: what a robot samples. A deleted stream leaves what it collected: its source's points stay readable. */
import { ApiError } from '@drover/shared/api/errors';
import type { CreateStreamBody, Stream, StreamOptionsBody, UpdateStreamBody } from '@drover/shared/api/streams';
import { v7 as newUuid } from 'uuid';
import { isUniqueViolation } from '../db/errors.js';
import type { Store } from '../db/store.js';
import type { DesiredState } from '../desired/desired.js';
import type { RobotRef } from '../robots/robots.js';
import { streamsOfRobot } from './store.js';

/** A larger message is dropped on the robot, and counted. */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

export class Streams {
  readonly #store: Store;
  readonly #desired: DesiredState;
  readonly #now: () => number;

  constructor(options: { store: Store; desired: DesiredState; now: () => number }) {
    this.#store = options.store;
    this.#desired = options.desired;
    this.#now = options.now;
  }

  /** All streams of a robot, oldest first. */
  async list(robot: RobotRef): Promise<Stream[]> {
    const rows = await streamsOfRobot(this.#store.db, robot.key).execute();
    return rows.map((row) => ({
      uuid: row.uuid,
      source: row.source,
      source_encoded: encodeURIComponent(row.source),
      type: row.type,
      hz: row.hz,
      enabled: row.enabled === 1,
      first_recording: stampText(row.first_stamp_ms),
      last_recording: stampText(row.last_stamp_ms),
      num_recordings: row.point_count ?? 0,
      created_at: new Date(row.created_at_ms).toISOString(),
    }));
  }

  /** @throws ApiError stream_exists */
  async create(robot: RobotRef, body: CreateStreamBody): Promise<void> {
    try {
      await this.#desired.change(robot.key, (tx) =>
        tx
          .insertInto('streams')
          .values({
            uuid: newUuid(),
            robot_key: robot.key,
            source: body.source,
            type: body.type,
            hz: body.hz,
            enabled: 1,
            max_message_bytes: MAX_MESSAGE_BYTES,
            created_at_ms: this.#now(),
          })
          .execute(),
      );
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      throw new ApiError('stream_exists', `robot ${robot.id} has a stream on ${body.source} already; PATCH changes it`);
    }
  }

  /** @throws ApiError stream_not_found */
  async update(robot: RobotRef, source: string, body: UpdateStreamBody): Promise<void> {
    await this.#desired.change(robot.key, async (tx) => {
      const { numUpdatedRows } = await tx
        .updateTable('streams')
        .set({ enabled: body.enabled ? 1 : 0, hz: body.hz })
        .where('robot_key', '=', robot.key)
        .where('source', '=', source)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) throw streamNotFound(robot, source);
    });
  }

  /** What is left out stays as it is. @throws ApiError stream_not_found */
  async setOptions(robot: RobotRef, source: string, body: StreamOptionsBody): Promise<void> {
    await this.#desired.change(robot.key, async (tx) => {
      const { numUpdatedRows } = await tx
        .updateTable('streams')
        .set({
          ...(body.max_message_bytes === undefined ? {} : { max_message_bytes: body.max_message_bytes }),
          ...(body.max_age_s === undefined ? {} : { max_age_s: body.max_age_s }),
        })
        .where('robot_key', '=', robot.key)
        .where('source', '=', source)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) throw streamNotFound(robot, source);
    });
  }

  /** @throws ApiError stream_not_found */
  async remove(robot: RobotRef, source: string): Promise<void> {
    await this.#desired.change(robot.key, async (tx) => {
      const { numDeletedRows } = await tx
        .deleteFrom('streams')
        .where('robot_key', '=', robot.key)
        .where('source', '=', source)
        .executeTakeFirst();
      if (numDeletedRows === 0n) throw streamNotFound(robot, source);
      await tx.deleteFrom('stream_status').where('robot_key', '=', robot.key).where('source', '=', source).execute();
    });
  }
}

export function streamNotFound(robot: RobotRef, source: string): ApiError {
  // Streams have a uuid, too, and their names are long to write: both are tried.
  const hint = source.startsWith('/') ? '' : '; a source begins with /, which is %2F in a path';
  return new ApiError('stream_not_found', `robot ${robot.id} has no stream on ${source.slice(0, 256)}${hint}`);
}

function stampText(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
