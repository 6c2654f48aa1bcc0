import { createRequire } from 'node:module';
import { join } from 'node:path';
import type Sqlite from 'better-sqlite3';

/** The SQLite of the cloud, whose dependency it is. */
const Database = createRequire(new URL('../../packages/cloud/package.json', import.meta.url))(
  'better-sqlite3',
) as typeof Sqlite;

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
