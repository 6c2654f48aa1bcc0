import { join } from 'node:path';
import Database from 'better-sqlite3';

/** Another agent works in this data directory. */
export class DataDirBusyError extends Error {
  override readonly name = 'DataDirBusyError';
  constructor(readonly dataDir: string) {
    super(`another agent is running in ${dataDir}: stop it, or give this one a DROVER_DATA_DIR of its own`);
  }
}

/**
 * One agent a data directory. Node has no flock, so the lock is SQLite's own: an exclusive transaction on an empty
 * file. It is the kernel's (fcntl), so a kill -9 or a power cut leaves nothing behind to be cleaned up.
 * @param waitMs how long to wait, blocking, for one that is about to end.
 * @returns the release function.
 * @throws DataDirBusyError, or SQLite's error where the directory can't be written.
 */
export function lockDataDir(dataDir: string, waitMs = 0): () => void {
  const lock = new Database(join(dataDir, 'agent.lock'), { timeout: waitMs });
  try {
    // No journal file: the transaction never writes, and a crash must not leave one.
    lock.pragma('journal_mode = MEMORY');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    lock.close();
    if (cause instanceof Database.SqliteError && cause.code === 'SQLITE_BUSY') throw new DataDirBusyError(dataDir);
    throw cause;
  }
  return () => lock.close();
}
