import { createRequire } from 'node:module';
import { join } from 'node:path';
import type Sqlite from 'better-sqlite3';

/** The SQLite of the cloud, whose dependency it is. */
const Database = createRequire(new URL('../../packages/cloud/package.json', import.meta.url))(
  'better-sqlite3',
) as typeof Sqlite;

/** CDR: four bytes of header, then the Int64. */
const VALUE_AT = 4;

/** The counters' values in a cloud's store, by `<robot> <source>`, in the order in which they were stored. */
export function storedValues(dataDir: string): Map<string, number[]> {
  const database = new Database(join(dataDir, 'drover.db'), { readonly: true });
  try {
    const rows = database
      .prepare(
        `SELECT robots.id AS robot, sources.name AS source, cdr FROM points JOIN sources ON sources.key = source_key
         JOIN robots ON robots.key = sources.robot_key WHERE sources.name LIKE '/probe/%' ORDER BY points.id`,
      )
      .iterate() as Iterable<{ robot: string; source: string; cdr: Buffer }>;
    const values = new Map<string, number[]>();
    for (const { robot, source, cdr } of rows) {
      const key = `${robot} ${source}`;
      const known = values.get(key) ?? [];
      if (known.length === 0) values.set(key, known);
      known.push(Number(cdr.readBigInt64LE(VALUE_AT)));
    }
    return values;
  } finally {
    database.close();
  }
}
