import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import type { Logger } from 'pino';
import { fsyncDirectory } from './durable-file.js';
import { type FoundFile, findFile } from './file-marks.js';
import type { Owned, RobotIdentity } from './robot-identity.js';

/**
 * A SQLite file of the agent with an identity: an id made with it, so that the cloud can tell a file from its successor.
 * Everything it commits is on disk when the commit returns (WAL, synchronous=FULL). A file that can't be read is set
 * aside under another name, said, and replaced by a new one with a new id; the last one set aside is kept.
 */
export interface StoreFile extends Owned {
  readonly db: Database.Database;
  readonly path: string;
  /** Made with the file; as it was when the file was opened. */
  readonly id: string;
  /** As it was before it was opened; null where it was made now. */
  readonly found: FoundFile | null;
  /** Gives it a new identity: to the cloud it is another file then. */
  setId(id: string): void;
}

export interface StoreFileOptions {
  readonly path: string;
  /** Append-only: entry n brings a file from schema version n to n + 1. */
  readonly migrations: readonly string[];
  readonly newId: () => string;
  readonly now: () => number;
  readonly log: Logger;
}

/**
 * Opens the file and makes of it what `use` does, or of a new one in its place where it is corrupt: `use` reads first
 * what it needs, and a file that is broken there must not stop the agent at every start.
 * @throws SQLite's error where neither works.
 */
export function openStoreFile<T>(options: StoreFileOptions, use: (file: StoreFile) => T): T {
  try {
    return openAndUse(options, use);
  } catch (error) {
    if (!isCorrupt(error)) throw error;
    setAside(options, 'corrupt', error.message);
    return openAndUse(options, use);
  }
}

function openAndUse<T>(options: StoreFileOptions, use: (file: StoreFile) => T): T {
  const file = open(options);
  try {
    return use(file);
  } catch (error) {
    file.db.close();
    throw error;
  }
}

/** Moves the file out of the way; the caller has closed it. `why` becomes part of its name. */
export function setAside(options: Pick<StoreFileOptions, 'path' | 'now' | 'log'>, why: string, detail: string): void {
  const { path, log } = options;
  const prefix = `${basename(path)}.${why}-`;
  const directory = dirname(path);
  for (const old of readdirSync(directory)) {
    // One is evidence, many would fill the robot's disk.
    if (old.startsWith(prefix)) rmSync(join(directory, old), { force: true });
  }
  const target = join(directory, prefix + new Date(options.now()).toISOString().replaceAll(':', '-'));
  for (const part of ['-wal', '-shm', '']) {
    if (existsSync(path + part)) renameSync(path + part, target + part);
  }
  fsyncDirectory(directory);
  log.error({ file: path, movedTo: target, why, detail }, 'store file set aside, starting a new one');
}

/** Whether an error says that the file itself is broken (and not that the disk is full, read-only, …). */
export function isCorrupt(error: unknown): error is Error {
  return (
    error instanceof Database.SqliteError &&
    (error.code.startsWith('SQLITE_CORRUPT') || error.code === 'SQLITE_NOTADB' || error.code === 'DROVER_FOREIGN')
  );
}

function open(options: StoreFileOptions): StoreFile {
  const found = findFile(options.path);
  const db = new Database(options.path, { timeout: 2_000 });
  try {
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('journal_size_limit = 4194304');
    migrate(db, options.migrations);
    db.prepare(`INSERT OR IGNORE INTO meta (key, value) VALUES ('id', ?)`).run(options.newId());
    if (found === null) fsyncDirectory(dirname(options.path));
    const read = db.prepare<[string], string>('SELECT value FROM meta WHERE key = ?').pluck();
    const write = db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)');
    const id = read.get('id');
    if (!id) throw new Database.SqliteError('the file has no id', 'DROVER_FOREIGN');
    return {
      db,
      path: options.path,
      found,
      id,
      setId: (newId) => void write.run('id', newId),
      owner: () => {
        const robotId = read.get('robot_id');
        return robotId === undefined ? null : { id: robotId, uid: read.get('robot_uid') ?? null };
      },
      setOwner: db.transaction(({ id: robotId, uid }: RobotIdentity) => {
        write.run('robot_id', robotId);
        if (uid !== null) write.run('robot_uid', uid);
      }),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

function migrate(db: Database.Database, migrations: readonly string[]): void {
  const version = Number(db.pragma('user_version', { simple: true }));
  if (version > migrations.length) {
    const message = `written by a newer agent (schema ${version}, this one knows ${migrations.length})`;
    throw new Database.SqliteError(message, 'DROVER_FOREIGN');
  }
  const pending = [...migrations.entries()].slice(version);
  db.transaction(() => {
    if (version === 0) db.exec('CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT');
    for (const [index, sql] of pending) {
      db.exec(sql);
      db.pragma(`user_version = ${index + 1}`);
    }
  })();
}
