/**
 * A copy of the store in one file, taken while a cloud may be serving from it.
 *
 * VACUUM INTO reads one snapshot in a read transaction of another process: in WAL mode readers and the writer don't wait for
 * each other. SQLite's backup API would begin anew with each commit of the cloud's unless it copied all at once, and it copies
 * free pages too. While it runs the WAL can't be reset, so it grows by what is written meanwhile.
 *
 * The file appears under its name only when it is whole and on disk (SQLite doesn't sync it: we do), with the permissions of the
 * store itself: it holds all data, and the hashes of keys and tokens.
 */
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import Sqlite from 'better-sqlite3';
import { STORE_FILE } from './store.js';

const BUSY_TIMEOUT_MS = 5000;

/** Why there is no backup, in words; what there was is as it was. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

export interface Backup {
  readonly file: string;
  readonly bytes: number;
}

/**
 * Writes the store of a data directory to a new file. Blocks this process until it is done: for a command of its own.
 * @throws BackupError
 */
export function backUpStore(dataDir: string, target: string): Backup {
  if (target === '') throw new BackupError('name the file that the backup goes to');
  const file = resolve(target);
  const store = join(dataDir, STORE_FILE);
  checkThere(store, dataDir);
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) {
    throw new BackupError(`${file} is a directory: name a file in it, like ${join(file, STORE_FILE)}`);
  }
  // SQLite takes such a file for its own, and removes it when the store is opened next.
  if (['-wal', '-shm', '-journal'].some((suffix) => basename(file) === STORE_FILE + suffix)) {
    throw new BackupError(`${file} is a name that SQLite keeps for the store's own use: name another file`);
  }
  if (existsSync(file)) throw new BackupError(`${file} is there already: name another file, or remove it first`);
  const partial = `${file}.partial`;
  create(partial, file);
  try {
    copy(store, partial);
    sync(partial);
    publish(partial, file);
    sync(dirname(file));
  } catch (error) {
    rmSync(partial, { force: true });
    throw inWords(error, file);
  }
  return { file, bytes: statSync(file).size };
}

/** Whoever may not look into the directory (it is its owner's alone) must not be told that it is the wrong one. */
function checkThere(store: string, dataDir: string): void {
  try {
    statSync(store);
  } catch (error) {
    throw ['ENOENT', 'ENOTDIR'].includes(codeOf(error))
      ? new BackupError(`there is no store in ${dataDir}: set DROVER_DATA_DIR to the cloud's data directory`)
      : new BackupError(
          `the store in ${dataDir} can not be read: ${codeOf(error)}. Run this as the user that the cloud runs as`,
        );
  }
}

/** Empty, ours alone to read, and certainly nobody else's: VACUUM INTO takes an empty file as it takes none. */
function create(partial: string, file: string): void {
  try {
    closeSync(openSync(partial, 'wx', 0o600));
  } catch (error) {
    if (codeOf(error) === 'EEXIST') {
      const why = 'another backup to the same file runs, or one was broken off';
      throw new BackupError(`${partial} is there: ${why}; if none runs, remove it`);
    }
    throw inWords(error, file);
  }
}

function copy(store: string, partial: string): void {
  const raw = new Sqlite(store, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    raw.prepare('VACUUM INTO ?').run(partial);
  } finally {
    raw.close();
  }
}

/** A rename would replace a file that has come there meanwhile; a link refuses. */
function publish(partial: string, file: string): void {
  try {
    linkSync(partial, file);
    rmSync(partial);
  } catch (error) {
    // A file system without links.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(codeOf(error)) || existsSync(file)) throw error;
    renameSync(partial, file);
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function inWords(error: unknown, file: string): Error {
  const code = codeOf(error);
  const words = error instanceof Error ? error.message : String(error);
  const dir = dirname(file);
  if (code === 'ENOENT') return new BackupError(`the directory ${dir} is not there: make it first`);
  if (code === 'EEXIST') return new BackupError(`${file} is there already: name another file, or remove it first`);
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') {
    return new BackupError(`no room for a backup in ${dir}: it takes about as many bytes as the store has`);
  }
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') {
    return new BackupError(`the store can not be read (${words}): restore an earlier backup`);
  }
  return new BackupError(`no backup to ${file}: ${words}`);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
