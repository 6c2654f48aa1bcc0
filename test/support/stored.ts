import { createRequire } from 'node:module';
import { join } from 'node:path';
import type Sqlite from 'better-sqlite3';

/** The SQLite of the cloud, whose dependency it is. */
const Database = createRequire(new URL('../../packages/cloud/package.json', import.meta.url))(
  'better-sqlite3',
) as typeof Sqlite;

/** @param path of a store, of the cloud or of an agent. */
export function openSqlite(path: string): Sqlite.Database {
  return new Database(path);
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
