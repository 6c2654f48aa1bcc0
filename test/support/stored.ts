import { createRequire } from 'node:module';
import { join } from 'node:path';
import type Sqlite from 'better-sqlite3';

/** The SQLite of the cloud, whose dependency it is. */
const Database = createRequire(new URL('../../packages/cloud/package.json', import.meta.url))(
  'better-sqlite3',
) as typeof Sqlite;

/** @param path of a store, of the cloud or of an agent. */
export function openSqlite(path: string, options: Sqlite.Options = {}): Sqlite.Database {
  return new Database(path, options);
}

/** The messages of a source as a running cloud has them in its store, oldest first. */
export function storedCdr(dataDir: string, source: string): Uint8Array[] {
  const database = new Database(join(dataDir, 'drover.db'), { readonly: true });
  try {
    const rows = database
      .prepare('SELECT cdr FROM points JOIN sources ON sources.key = source_key WHERE name = ? ORDER BY points.id')
      .all(source) as { cdr: Uint8Array }[];
    return rows.map(({ cdr }) => cdr);
  } finally {
    database.close();
  }
}

/** The numbers that a load topic (agent/src/ros/simulated/load.ts) put in front of its messages, as a running cloud has them, in the order of the API: by stamp. */
export function storedLoad(dataDir: string, source: string): number[] {
  const database = new Database(join(dataDir, 'drover.db'), { readonly: true });
  try {
    // Behind the encapsulation header and the string's length.
    const rows = database
      .prepare(
        `SELECT CAST(substr(cdr, 9, 16) AS TEXT) FROM points JOIN sources ON sources.key = source_key
         WHERE name = ? ORDER BY stamp_ms, points.id`,
      )
      .pluck()
      .all(source) as string[];
    return rows.map(Number);
  } finally {
    database.close();
  }
}

/** What an agent's spool has dropped so far, bytes; reads the file of a running agent. */
export function droppedBytes(dataDir: string): number {
  const database = new Database(join(dataDir, 'spool.db'), { readonly: true });
  try {
    return Number(database.prepare('SELECT total(bytes) FROM drops').pluck().get());
  } finally {
    database.close();
  }
}

interface Kept {
  source_key: number;
  count: number;
  first: number | null;
  last: number | null;
}

/** What must agree in a cloud's store, or in a backup of it, whatever happened. */
export interface StoreFacts {
  /** What is said of each source, and what a count finds. */
  counters: Kept[];
  counts: Kept[];
  /** Rows that the lanes of spools are acknowledged up to, and rows there are: equal where no row was dropped or removed. */
  marked: number;
  rows: number;
}

/** Facts of a store's file, that of a running cloud too; all of one moment. */
export function factsOf(file: string): StoreFacts {
  const database = new Database(file, { readonly: true });
  try {
    return database.transaction(() => {
      const number = (sql: string) => database.prepare<[], number>(sql).pluck().get() ?? 0;
      return {
        counters: database
          .prepare<[], Kept>(
            'SELECT key AS source_key, point_count AS count, first_stamp_ms AS first, last_stamp_ms AS last ' +
              'FROM sources WHERE point_count > 0 ORDER BY key',
          )
          .all(),
        counts: database
          .prepare<[], Kept>(
            'SELECT source_key, count(*) AS count, min(stamp_ms) AS first, max(stamp_ms) AS last ' +
              'FROM points GROUP BY source_key ORDER BY source_key',
          )
          .all(),
        marked: number('SELECT sum(acked_seq) FROM spools'),
        rows: number('SELECT (SELECT count(*) FROM points) + (SELECT count(*) FROM vitals)'),
      };
    })();
  } finally {
    database.close();
  }
}

/** The numbers of a std_msgs/msg/Int64 source with their stamps, as a running cloud has them, in the order of the API: by stamp. */
export function storedStamps(dataDir: string, source: string) {
  const database = new Database(join(dataDir, 'drover.db'), { readonly: true });
  try {
    const rows = database
      .prepare(
        `SELECT cdr, stamp_ms AS stampMs, robot_stamp_ms AS robotStampMs, received_ms AS receivedMs
         FROM points JOIN sources ON sources.key = source_key WHERE name = ? ORDER BY stamp_ms, points.id`,
      )
      .all(source) as { cdr: Buffer; stampMs: number; robotStampMs: number | null; receivedMs: number }[];
    return rows.map(({ cdr, ...stamps }) => ({ count: Number(cdr.readBigInt64LE(4)), ...stamps }));
  } finally {
    database.close();
  }
}

/** SQLite's word on a store's file: `ok`. */
export function integrityOf(file: string): unknown {
  const database = new Database(file, { readonly: true });
  try {
    return database.pragma('integrity_check', { simple: true });
  } finally {
    database.close();
  }
}

/** The state of a command in a store's file. */
export function stateOf(file: string, uuid: string): string | undefined {
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare<[string], string>('SELECT state FROM commands WHERE uuid = ?').pluck().get(uuid);
  } finally {
    database.close();
  }
}

/** Changes a store that no cloud has open. */
export function changeStore(dataDir: string, change: (database: Sqlite.Database) => void): void {
  const database = new Database(join(dataDir, 'drover.db'));
  try {
    database.transaction(change)(database);
  } finally {
    database.close();
  }
}

/** The numbers that a stream on /counter has in the store, in the order of their arrival. */
export function storedCounters(dataDir: string, source = '/counter'): number[] {
  return storedCdr(dataDir, source).map((cdr) => Number(Buffer.from(cdr).readBigInt64LE(4)));
}
