import { type CompiledQuery, type QueryResult, SqliteAdapter } from 'kysely';
import type { PreparedDatabase } from './statement-cache.js';
import type { Db } from './store.js';

/**
 * A way past Kysely for queries that are compiled already. Its own leads through a lock, plugins and a dozen promises, which takes
 * several times as long as SQLite does. Kysely hands its adapter to all that is made of it, transactions too: so a query finds
 * the way by the `Db` that it is run on. Another kind of store has none, and its queries go by Kysely.
 */
export class DirectAdapter extends SqliteAdapter {
  readonly #database: PreparedDatabase;
  /** False where the connection may be in somebody else's transaction: then only those that are in it go past its lock. */
  readonly #isReader: boolean;

  constructor(options: { database: PreparedDatabase; isReader: boolean }) {
    super();
    this.#database = options.database;
    this.#isReader = options.isReader;
  }

  /** True where `db` has the connection to itself until the end of this turn. */
  mayRun(db: Db): boolean {
    return this.#isReader || db.isTransaction;
  }

  run<R>(query: CompiledQuery<R>, parameters: readonly unknown[]): QueryResult<R> {
    const statement = this.#database.prepare(query.sql);
    if (statement.reader) return { rows: statement.all(parameters) as R[] };
    const { changes } = statement.run(parameters);
    return { rows: [], numAffectedRows: BigInt(changes) };
  }
}
