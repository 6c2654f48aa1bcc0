import { join } from 'node:path';
import { openSqlite } from '../support/stored.js';

/** CDR: four bytes of header, then the Int64. */
const VALUE_AT = 4;

/** The counters' values in a cloud's store, read beside the cloud. */
export class StoreFile {
  readonly #path: string;
  readonly #values = new Map<string, number[]>();
  /** Points only come to it, each with a greater id than those before: no need to read one twice. */
  #lastId = 0;

  constructor(dataDir: string) {
    this.#path = join(dataDir, 'drover.db');
  }

  /** By `<robot> <source>`, in the order in which they were stored. */
  values(): ReadonlyMap<string, readonly number[]> {
    const database = openSqlite(this.#path, { readonly: true });
    try {
      const rows = database
        .prepare(
          `SELECT points.id AS id, robots.id || ' ' || sources.name AS source, cdr FROM points
           JOIN sources ON sources.key = source_key JOIN robots ON robots.key = sources.robot_key
           WHERE points.id > ? AND sources.name LIKE '/probe/%' ORDER BY points.id`,
        )
        .iterate(this.#lastId) as Iterable<{ id: number; source: string; cdr: Buffer }>;
      for (const { id, source, cdr } of rows) {
        const known = this.#values.get(source) ?? [];
        if (known.length === 0) this.#values.set(source, known);
        known.push(Number(cdr.readBigInt64LE(VALUE_AT)));
        this.#lastId = id;
      }
      return this.#values;
    } finally {
      database.close();
    }
  }
}
