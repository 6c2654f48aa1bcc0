/**
 * The store: one SQLite file in the data directory, the one connection of this process that writes to it, and one that reads.
 *
 * better-sqlite3 is synchronous. Were there two connections that write in this process, one could wait for a lock that the other
 * can only give up in a later turn of the event loop, which never comes: hence one, shared by Kysely's queries and
 * by the hand-written statements of ingest and retention, which take Kysely's lock on it (`exclusive`). For the same reason
 * whatever runs inside a transaction must use that transaction, never `store.db`: it would wait for itself.
 *
 * What each request looks up (its key, its robot, a command) is read by the other connection: readers and the writer don't wait for
 * each other in WAL mode, and a read sees all that was committed before it, by whatever process.
 *
 * Promises: what a committed transaction wrote is on disk (synchronous=FULL), also after kill -9 or a power cut. Other
 * processes (`drover-cloud tenants create`) may write beside this one; each waits up to BUSY_TIMEOUT_MS for the other.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import {
  CompiledQuery,
  type DatabaseConnection,
  Kysely,
  type SqliteAdapter,
  SqliteDialect,
  SqliteDriver,
  type Transaction,
} from 'kysely';
import { DirectAdapter } from './direct.js';
import { migrate } from './migrate.js';
import type { Schema } from './schema.js';
import { type PreparedDatabase, withStatementCache } from './statement-cache.js';

export type Tx = Transaction<Schema>;
/** For queries that may run inside a transaction or by themselves. */
export type Db = Kysely<Schema>;

export interface Store {
  readonly db: Db;
  /** Reads what is committed, at once, whoever writes. For single queries: a transaction on it would keep the log from being reset. */
  readonly reads: Db;
  /**
   * Runs `fn` on the raw handle, in the turn in which the connection becomes free, with no query of Kysely's between.
   * Only for ingest and retention: `fn` is synchronous, so that nothing else can be inside its transaction.
   */
  exclusive<T>(fn: (raw: Database) => T): Promise<T>;
  /** Writes a page, durably, and nothing of meaning. @throws SqliteError where the store takes no writes */
  probe(): Promise<void>;
  /** Waits for the query that runs; later ones fail. */
  close(): Promise<void>;
}

export const STORE_FILE = 'drover.db';
/** Blocks the whole process: long enough for a command's write, short enough to go on serving beside a lock that is left. */
const BUSY_TIMEOUT_MS = 1000;
const CACHE_KIB = 64 * 1024;
/** Each commit of the writer's empties it: more would not be used. */
const READS_CACHE_KIB = 2 * 1024;
const WAL_BYTES_KEPT = 64 * 1024 * 1024;

/**
 * Opens the store of a data directory, made where it is missing, at the newest schema.
 * @throws StoreTooNewError, SqliteError
 */
export function openStore(options: { dataDir: string; nowMs: number }): Store {
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
  const file = join(options.dataDir, STORE_FILE);
  const raw = new Sqlite(file, { timeout: BUSY_TIMEOUT_MS });
  let reader: Database;
  try {
    raw.pragma('journal_mode = WAL');
    raw.pragma('synchronous = FULL');
    raw.pragma('foreign_keys = ON');
    raw.pragma(`cache_size = -${CACHE_KIB}`);
    // It grows while a backup reads; afterwards it is cut back.
    raw.pragma(`journal_size_limit = ${WAL_BYTES_KEPT}`);
    migrate(raw, options.nowMs);
    reader = openReader(file);
  } catch (error) {
    raw.close();
    throw error;
  }
  const db = new Kysely<Schema>({ dialect: new OneConnectionDialect({ database: raw }) });
  const reads = new Kysely<Schema>({ dialect: new OneConnectionDialect({ database: reader }) });
  return {
    db,
    reads,
    exclusive: (fn) => db.connection().execute(async () => fn(raw)),
    // The number in the file's header is free for our use; the schema's version has a table.
    probe: () =>
      db.connection().execute(async () => {
        raw.pragma(`user_version = ${Number(raw.pragma('user_version', { simple: true })) === 0 ? 1 : 0}`);
      }),
    // The writer last: whoever closes last brings the log into the file, and a reader can't.
    close: async () => {
      reader.close();
      await db.destroy();
    },
  };
}

function openReader(file: string): Database {
  const reader = new Sqlite(file, { timeout: BUSY_TIMEOUT_MS, readonly: true });
  reader.pragma(`cache_size = -${READS_CACHE_KIB}`);
  return reader;
}

/** Its driver and its adapter share the connection, and the statements that were prepared on it. */
class OneConnectionDialect extends SqliteDialect {
  readonly #raw: Database;
  readonly #database: PreparedDatabase;
  constructor(config: { database: Database }) {
    super(config);
    this.#raw = config.database;
    this.#database = withStatementCache(config.database);
  }
  override createDriver(): SqliteDriver {
    return new ImmediateDriver(this.#raw, this.#database);
  }
  override createAdapter(): SqliteAdapter {
    return new DirectAdapter({ database: this.#database, isReader: this.#raw.readonly });
  }
}

/**
 * Transactions begin as writers. SQLite's default begins as a reader and fails at once when it turns writer after another
 * process has written (SQLITE_BUSY_SNAPSHOT, which no busy timeout helps); this way it waits for its turn instead.
 */
class ImmediateDriver extends SqliteDriver {
  readonly #raw: Database;
  /** Those who wait for the connection, in the order in which they came; null while nobody has it. */
  #waiting: (() => void)[] | null = null;
  constructor(raw: Database, database: PreparedDatabase) {
    super({ database });
    this.#raw = raw;
  }

  /** Kysely's own lock wakes all who wait each time it is given back: a thousand waiting sessions cost a million wake-ups. */
  override async acquireConnection(): Promise<DatabaseConnection> {
    const waiting = this.#waiting;
    if (waiting) await new Promise<void>((resolve) => waiting.push(resolve));
    else this.#waiting = [];
    return await super.acquireConnection();
  }

  override async releaseConnection(): Promise<void> {
    await super.releaseConnection();
    const next = this.#waiting?.shift();
    if (next) next();
    else this.#waiting = null;
  }

  /** SQLite rolls back by itself where the disk is full; a second rollback would fail and hide the reason. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#raw.inTransaction) await super.rollbackTransaction(connection);
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }
}
