/**
 * Reading what robots have sent: as log records (`/logs`) or whole (`/data`), with the same uuid and stamp in both. Messages
 * are stored as bytes and decoded here. A page is built piece by piece, other requests pass between, and it ends with an
 * error where it grows over PAGE_BYTES_MAX.
 */

import type { DataPoint, ListPointsQuery, LogRecord } from '@drover/shared/api/data';
import { ApiError } from '@drover/shared/api/errors';
import type { Db } from '../db/store.js';
import { PAGE_BYTES_MAX, pageTooLarge } from '../http/page-size.js';
import type { RobotRef } from '../robots/robots.js';
import { type Decoded, Decoder } from './decoder.js';
import { logRecordOf, type PointContext } from './log-record.js';
import { pointUuid, stampOfUuid } from './point-uuid.js';
import { sourceName } from './source-name.js';
import { channelsByKey, placesOfPage, pointHeads, pointMessages, pointsAt, sourcesWithPoints } from './store.js';

/** Points of one stamp among which one is looked for by its uuid: their uuids are hashed one by one. */
const SAME_STAMP_MAX = 10_000;

/** Stored bytes read and decoded before others get a turn. */
const READ_BYTES = 1024 * 1024;

export class Points {
  readonly #db: Db;
  readonly #decoder: Decoder;

  constructor(options: { db: Db }) {
    this.#db = options.db;
    this.#decoder = new Decoder(options.db);
  }

  /** A page of points as log records, a JSON array. @throws ApiError payload_too_large */
  async logs(robot: RobotRef, query: ListPointsQuery): Promise<string> {
    return this.#page(robot, query, (point, decoded): LogRecord => logRecordOf(point, decoded));
  }

  /** A page of points whole, a JSON array. @throws ApiError payload_too_large */
  async data(robot: RobotRef, query: ListPointsQuery): Promise<string> {
    return this.#page(robot, query, ({ uuid, stamp, source, type }, decoded): DataPoint => {
      // No ROS field has a $ in its name.
      const payload = 'value' in decoded ? decoded.value : { $undecodable: decoded.undecodable };
      return { uuid, stamp, source, type, payload };
    });
  }

  async #page(
    robot: RobotRef,
    query: ListPointsQuery,
    show: (point: PointContext, decoded: Decoded) => object,
  ): Promise<string> {
    const source = query.source === undefined ? undefined : sourceName(query.source);
    const sources = await sourcesWithPoints(this.#db, robot.key, source).execute();
    const sourceKeys = sources.map((row) => row.key);
    const places = await placesOfPage(this.#db, {
      sourceKeys,
      fromMs: query.from,
      toMs: query.to,
      before: await this.#placeOf(robot, sourceKeys, query.before),
      ...(query.latest_only ? { offset: 0, limit: 1 } : { offset: query.offset, limit: query.limit }),
    });
    if (places.length === 0) return '[]';
    const heads = new Map((await pointHeads(this.#db, ids(places)).execute()).map((head) => [head.id, head]));
    const channelKeys = new Set([...heads.values()].map((head) => head.channel_key));
    const channels = new Map((await channelsByKey(this.#db, [...channelKeys]).execute()).map((row) => [row.key, row]));

    const texts: string[] = [];
    let pageBytes = 2;
    for (const piece of piecesOf(places, (place) => heads.get(place.id)?.bytes ?? 0)) {
      const messages = new Map((await pointMessages(this.#db, ids(piece)).execute()).map((row) => [row.id, row.cdr]));
      for (const place of piece) {
        const channel = channels.get(heads.get(place.id)?.channel_key ?? 0);
        const cdr = messages.get(place.id);
        // Deleted since the page began (its robot, or its age).
        if (!channel || !cdr) continue;
        const point = {
          uuid: pointUuid('point', robot.tenantUuid, place.stamp_ms, place.id),
          stamp: new Date(place.stamp_ms).toISOString(),
          source: channel.source,
          type: channel.type,
          publisher: channel.publisher,
        };
        const text = JSON.stringify(show(point, await this.#decoder.decode(channel.schema_key, cdr)));
        pageBytes += Buffer.byteLength(text) + 1;
        if (pageBytes > PAGE_BYTES_MAX) throw pageTooLarge();
        texts.push(text);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    return `[${texts.join(',')}]`;
  }

  /** Where the point with this uuid stands. @throws ApiError invalid_request where these sources have none */
  async #placeOf(robot: RobotRef, sourceKeys: readonly number[], uuid: string | undefined) {
    if (uuid === undefined) return undefined;
    const stampMs = stampOfUuid(uuid);
    const candidates = await pointsAt(this.#db, sourceKeys, stampMs, SAME_STAMP_MAX);
    const id = candidates.find((one) => pointUuid('point', robot.tenantUuid, stampMs, one) === uuid.toLowerCase());
    if (id !== undefined) return { id, stamp_ms: stampMs };
    const to = new Date(stampMs).toISOString();
    const message = `the point is not among these sources, or no longer kept: go on with to=${to}, which leaves out others of that stamp`;
    throw new ApiError('invalid_request', `before: ${message}`, { details: [{ path: 'before', message }] });
  }
}

function ids(places: readonly { id: number }[]): number[] {
  return places.map((place) => place.id);
}

/** In order, each of about READ_BYTES, of one at least. */
function* piecesOf<T>(items: readonly T[], bytesOf: (item: T) => number): Generator<T[]> {
  let piece: T[] = [];
  let bytes = 0;
  for (const item of items) {
    piece.push(item);
    bytes += bytesOf(item);
    if (bytes < READ_BYTES) continue;
    yield piece;
    piece = [];
    bytes = 0;
  }
  if (piece.length > 0) yield piece;
}
