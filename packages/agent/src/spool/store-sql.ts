import type { SchemaRow } from '@drover/shared/link/batch';
import type { Lane } from '@drover/shared/link/fields';
import type { Database, Statement } from 'better-sqlite3';
import type { BatchRecord, DropCount } from './rows.js';

interface Size {
  readonly id: number;
  readonly bytes: number;
}

interface SizeInChannel extends Size {
  readonly channel: number;
}

interface Held {
  readonly channel: number;
  readonly rows: number;
  readonly bytes: number;
}

export interface StoredRow {
  readonly channel: number;
  readonly robot_stamp_ms: number;
  readonly body: Uint8Array<ArrayBuffer>;
}

export interface SpoolSql {
  readonly freePages: Statement<[], number>;
  readonly pageBytes: Statement<[], number>;
  readonly maxId: Statement<[], number | null>;
  readonly oldest: Statement<[], { id: number; robot_stamp_ms: number }>;
  /** The id of the row so many rows on. */
  readonly idAfter: Statement<[fromId: number, rows: number], number>;
  readonly pagesInUse: Statement<[], number>;
  readonly insert: Statement<[id: number, channel: number, robotStampMs: number, body: Uint8Array]>;
  readonly sizes: Statement<[fromId: number, toId: number], Size>;
  readonly rowsOf: Statement<[firstId: number, lastId: number], StoredRow>;
  readonly rowsOfSource: Statement<[fromId: number, sourceId: number], SizeInChannel>;
  readonly agedRows: Statement<
    [fromId: number, toId: number, sourceId: number],
    SizeInChannel & { readonly robot_stamp_ms: number }
  >;
  readonly heldIn: Statement<[firstId: number, lastId: number], Held>;
  readonly deleteRange: Statement<[firstId: number, lastId: number]>;
  readonly deleteBatch: Statement<[lane: Lane, firstSeq: number]>;
  readonly insertBatch: Statement<[BatchRecord]>;
  readonly batches: Statement<[], BatchRecord>;
  readonly lanes: Statement<[], { lane: Lane; last_seq: number }>;
  readonly setLastSeq: Statement<[seq: number, lane: Lane]>;
  readonly schema: Statement<[hash: string], SchemaRow>;
  readonly drops: Statement<[], DropCount>;
  readonly countDrop: Statement<[source: string, reason: string, rows: number, bytes: number]>;
  readonly setId: Statement<[id: string]>;
}

/** What the spool asks of its file. */
export function prepareSpool(db: Database): SpoolSql {
  return {
    freePages: db.prepare<[], number>('PRAGMA freelist_count').pluck(),
    pageBytes: db.prepare<[], number>('PRAGMA page_size').pluck(),
    maxId: db.prepare<[], number | null>('SELECT max(id) FROM rows').pluck(),
    // Both are read from the file's header, and are those of the transaction.
    pagesInUse: db
      .prepare<[], number>(
        `SELECT (page_count - freelist_count) * page_size
         FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
      )
      .pluck(),
    oldest: db.prepare<[], { id: number; robot_stamp_ms: number }>(
      'SELECT id, robot_stamp_ms FROM rows ORDER BY id LIMIT 1',
    ),
    idAfter: db
      .prepare<[number, number], number>('SELECT id FROM rows WHERE id >= ? ORDER BY id LIMIT 1 OFFSET ?')
      .pluck(),
    insert: db.prepare('INSERT INTO rows (id, channel, robot_stamp_ms, body) VALUES (?, ?, ?, ?)'),
    sizes: db.prepare('SELECT id, length(body) AS bytes FROM rows WHERE id >= ? AND id < ? ORDER BY id'),
    rowsOf: db.prepare('SELECT channel, robot_stamp_ms, body FROM rows WHERE id BETWEEN ? AND ? ORDER BY id'),
    rowsOfSource: db.prepare(
      `SELECT id, channel, length(body) AS bytes FROM rows
       WHERE id >= ? AND channel IN (SELECT id FROM channels WHERE source_id = ?) ORDER BY id`,
    ),
    agedRows: db.prepare(
      `SELECT id, channel, robot_stamp_ms, length(body) AS bytes FROM rows
       WHERE id >= ? AND id < ? AND channel IN (SELECT id FROM channels WHERE source_id = ?) ORDER BY id`,
    ),
    // Its lengths by themselves: grouped at once, the rows are sorted with their bodies, which are read for it.
    heldIn: db.prepare(
      `WITH sizes AS MATERIALIZED (SELECT channel, length(body) AS bytes FROM rows WHERE id BETWEEN ? AND ?)
       SELECT channel, count(*) AS rows, sum(bytes) AS bytes FROM sizes GROUP BY channel`,
    ),
    deleteRange: db.prepare('DELETE FROM rows WHERE id BETWEEN ? AND ?'),
    deleteBatch: db.prepare('DELETE FROM batches WHERE lane = ? AND first_seq = ?'),
    insertBatch: db.prepare(
      `INSERT INTO batches (lane, first_seq, row_count, first_id, last_id, bytes)
       VALUES (@lane, @firstSeq, @rowCount, @firstId, @lastId, @bytes)`,
    ),
    batches: db.prepare(
      `SELECT lane, first_seq AS firstSeq, row_count AS rowCount, first_id AS firstId, last_id AS lastId, bytes
       FROM batches ORDER BY lane, first_seq`,
    ),
    lanes: db.prepare('SELECT lane, last_seq FROM lanes'),
    setLastSeq: db.prepare('UPDATE lanes SET last_seq = ? WHERE lane = ?'),
    schema: db.prepare('SELECT hash, type, text FROM schemas WHERE hash = ?'),
    drops: db.prepare('SELECT source, reason, rows, bytes FROM drops ORDER BY source, reason'),
    countDrop: db.prepare(
      `INSERT INTO drops (source, reason, rows, bytes) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET rows = rows + excluded.rows, bytes = bytes + excluded.bytes`,
    ),
    setId: db.prepare(`UPDATE meta SET value = ? WHERE key = 'id'`),
  };
}
