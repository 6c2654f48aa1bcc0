/**
 * Stores batches on the raw handle, inside a transaction of the caller's (writer.ts). What makes each row stored once: the
 * spool's mark, read and moved in that transaction.
 */
import { createHash } from 'node:crypto';
import type { Batch, ChannelRow, DataRow, VitalRow } from '@drover/shared/link/batch';
import type { Database, Statement } from 'better-sqlite3';
import type { RobotRef } from '../robots/robots.js';
import { BatchError, BatchRefusal } from './batch-error.js';
import { addPointsSql, INGEST_SQL, POINTS_A_STATEMENT } from './ingest-sql.js';
import { stampsOf } from './stamp.js';

interface Channel {
  readonly key: number;
  readonly sourceKey: number;
}

/** Finds of missing rows kept one by one of a robot; more are put together into one with their sum. */
const MISSING_FINDS_MAX = 1_000;

/** The spool that a sum of finds is noted under. */
const MANY_SPOOLS = '';

/**
 * Publishers known by name of a source; points of further ones are stored without the name. A node whose name holds its process id
 * comes with a new one at each start.
 */
const PUBLISHERS_MAX = 10_000;

/** Of a point. */
const COLUMNS = 6;
const VALUES_A_STATEMENT = COLUMNS * POINTS_A_STATEMENT[0];

type Statements = { readonly [name in keyof typeof INGEST_SQL]: Statement };

/** Which lane of which spool. */
export type LaneRef = Pick<Batch, 'spool_id' | 'lane'>;

export interface Stored {
  /** The lane is on disk up to this sequence. */
  readonly ackedSeq: number;
  /** Rows found missing before the batch. */
  readonly missing: number;
}

/** What one batch adds to a source's counters. */
interface Count {
  count: number;
  first: number;
  last: number;
}

export class Ingest {
  readonly #statements: Statements;
  /** The one of most rows first. */
  readonly #addPoints: readonly { readonly rows: number; readonly statement: Statement }[];

  constructor(raw: Database) {
    const entries = Object.entries(INGEST_SQL).map(([name, sql]) => {
      const statement = raw.prepare(sql);
      // One column is one value, not a row around it.
      return [name, statement.reader ? statement.pluck() : statement];
    });
    this.#statements = Object.fromEntries(entries) as Statements;
    this.#addPoints = POINTS_A_STATEMENT.map((rows) => ({ rows, statement: raw.prepare(addPointsSql(rows)) }));
  }

  /**
   * Stores what is above the mark; returns the mark after it, and how many rows were found missing below the batch.
   * @param opens the first batch of its lane in a session whose robot has not said from where on it holds its rows
   * @throws BatchError before anything was written.
   */
  store(robot: RobotRef, batch: Batch, receivedMs: number, opens: boolean): Stored {
    const known = this.#checkedMark(robot, batch, opens);
    const lastSeq = batch.first_seq + batch.rows.length - 1;
    if (lastSeq <= known) return { ackedSeq: known, missing: 0 };
    this.#checkChannels(batch);
    const missing = this.skipMissing(robot.key, batch, batch.first_seq, receivedMs, known);
    const mark = known + missing;
    for (const { hash, type, text } of batch.schemas) this.#statements.addSchema.run(hash, type, text);
    const fresh = Math.max(0, mark + 1 - batch.first_seq);
    this.#storePoints(robot, batch, fresh, receivedMs);
    for (let at = fresh; at < batch.rows.length; at += 1) {
      const row = batch.rows[at] as DataRow;
      if (row.kind === 'vital') this.#storeVital(robot, batch, row, receivedMs);
    }
    this.#statements.setMark.run(robot.key, batch.spool_id, batch.lane, lastSeq);
    return { ackedSeq: lastSeq, missing };
  }

  /** How far this lane is on disk: 0 where it was never heard of. */
  mark(robotKey: number, spoolId: string, lane: Batch['lane']): number | undefined {
    return this.#statements.mark.get(robotKey, spoolId, lane) as number | undefined;
  }

  /**
   * The robot holds the rows of a lane from `firstSeq` on: what lies between that and the mark was acknowledged to it once and is
   * not here. It is noted, the lane goes on behind it. Returns how many rows that is.
   */
  skipMissing(
    robotKey: number,
    lane: LaneRef,
    firstSeq: number,
    nowMs: number,
    mark = this.mark(robotKey, lane.spool_id, lane.lane) ?? 0,
  ): number {
    if (firstSeq <= mark + 1) return 0;
    const place = [robotKey, lane.spool_id, lane.lane] as const;
    this.#boundMissing(robotKey, nowMs);
    this.#statements.addMissing.run(...place, mark + 1, firstSeq - 1, Math.floor(nowMs));
    this.#statements.setMark.run(...place, firstSeq - 1);
    return firstSeq - 1 - mark;
  }

  /** Only the sum and the last find are shown: a robot gone mad must not fill the store with finds. */
  #boundMissing(robotKey: number, nowMs: number): void {
    const { countMissing, sumMissing, removeMissing, addMissing } = this.#statements;
    if ((countMissing.get(robotKey) as number) < MISSING_FINDS_MAX) return;
    const rows = sumMissing.get(robotKey) as number;
    removeMissing.run(robotKey);
    addMissing.run(robotKey, MANY_SPOOLS, 'live', 1, rows, Math.floor(nowMs));
  }

  /** How far the lane is on disk, where the batch may follow on that. */
  #checkedMark(robot: RobotRef, batch: Batch, opens: boolean): number {
    const mark = this.#statements.markOfRobot.get(batch.spool_id, batch.lane, robot.key) as number | undefined;
    // Its session ends with it, but what the session had already sent may come after.
    if (mark === undefined) throw new BatchError(BatchRefusal.robotGone, `robot ${robot.id} was deleted`);
    // A later batch may follow one that was refused and comes again: to go on behind that would lose it.
    if (batch.first_seq > mark + 1 && !opens) {
      const message = `the ${batch.lane} lane goes on at ${batch.first_seq}, but is stored only up to ${mark}`;
      throw new BatchError(BatchRefusal.gap, message);
    }
    return mark;
  }

  #checkChannels(batch: Batch): void {
    const sent = new Set<string>();
    for (const { hash, type, text } of batch.schemas) {
      // Definitions are shared by hash: a wrong one would spoil other robots' data.
      if (createHash('sha256').update(text).digest('hex') !== hash) {
        throw new BatchError(BatchRefusal.malformed, `the definition of ${type} does not have the hash it came with`);
      }
      sent.add(`${hash} ${type}`);
    }
    for (const { schema_hash, type } of batch.channels) {
      if (sent.has(`${schema_hash} ${type}`)) continue;
      if (this.#statements.findSchema.get(schema_hash, type) === undefined) {
        throw new BatchError(BatchRefusal.unknownSchema, `the definition ${schema_hash} of ${type} was never sent`);
      }
    }
    for (const row of batch.rows) {
      if (row.kind === 'point' && row.channel >= batch.channels.length) {
        throw new BatchError(
          BatchRefusal.malformed,
          `a point of channel ${row.channel}, which the batch does not list`,
        );
      }
    }
  }

  /** The points from that row on, some to a statement: what a point costs here is what ingest costs. */
  #storePoints(robot: RobotRef, batch: Batch, from: number, receivedMs: number): void {
    const channels: (Channel & { readonly count: Count })[] = [];
    const counts = new Map<number, Count>();
    const receivedWholeMs = Math.floor(receivedMs);
    const offsetMs = batch.clock?.offset_ms;
    let values: unknown[] = [];
    for (let at = from; at < batch.rows.length; at += 1) {
      const row = batch.rows[at] as DataRow;
      if (row.kind !== 'point') continue;
      let channel = channels[row.channel];
      if (!channel) {
        const keys = this.#channel(robot, batch.channels[row.channel] as ChannelRow);
        const count = counts.get(keys.sourceKey) ?? { count: 0, first: Number.POSITIVE_INFINITY, last: 0 };
        counts.set(keys.sourceKey, count);
        channel = { ...keys, count };
        channels[row.channel] = channel;
      }
      const { stampMs, robotStampMs } = stampsOf(row.robot_stamp_ms, offsetMs, receivedMs);
      values.push(channel.sourceKey, channel.key, stampMs, receivedWholeMs, robotStampMs, row.cdr);
      if (values.length === VALUES_A_STATEMENT) {
        this.#addValues(values);
        values = [];
      }
      const { count } = channel;
      count.count += 1;
      if (stampMs < count.first) count.first = stampMs;
      if (stampMs > count.last) count.last = stampMs;
    }
    this.#addValues(values);
    for (const [key, count] of counts) this.#statements.count.run({ key, ...count });
  }

  /** In as few statements as there are sizes for. */
  #addValues(values: readonly unknown[]): void {
    let at = 0;
    for (const { rows, statement } of this.#addPoints) {
      const length = rows * COLUMNS;
      for (; at + length <= values.length; at += length) {
        statement.run(length === values.length ? values : values.slice(at, at + length));
      }
    }
  }

  /** Looked up for each batch, not cached: a cache would outlive a transaction that was rolled back. */
  #channel(robot: RobotRef, row: ChannelRow): Channel {
    const { findSchema, findSource, addSource, findChannel, countChannels, addChannel } = this.#statements;
    const schemaKey = findSchema.get(row.schema_hash, row.type) as number;
    const sourceKey = (findSource.get(robot.key, row.source) ?? addSource.get(robot.key, row.source)) as number;
    const identity = [sourceKey, schemaKey, row.publisher ?? ''] as const;
    const known = findChannel.get(...identity);
    if (known !== undefined) return { sourceKey, key: known as number };
    if ((countChannels.get(sourceKey) as number) < PUBLISHERS_MAX) {
      return { sourceKey, key: addChannel.get(...identity) as number };
    }
    const nameless = [sourceKey, schemaKey, ''] as const;
    return { sourceKey, key: (findChannel.get(...nameless) ?? addChannel.get(...nameless)) as number };
  }

  #storeVital(robot: RobotRef, batch: Batch, row: VitalRow, receivedMs: number): void {
    const { stampMs, robotStampMs } = stampsOf(row.robot_stamp_ms, batch.clock?.offset_ms, receivedMs);
    const measures = [row.cpu, row.ram, row.disk, row.battery] as const;
    this.#statements.addVital.run(robot.key, stampMs, Math.floor(receivedMs), robotStampMs, ...measures);
    this.#statements.setLatestVital.run(robot.key, stampMs, ...measures);
  }
}
