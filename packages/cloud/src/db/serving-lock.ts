/**
 * At most one serving cloud a data directory: two would each believe that the robots' sessions are its own. The lock is
 * SQLite's lock on a file of its own, which the kernel drops with the process: kill -9 leaves nothing to clean up.
 * Commands that act on the store (`tenants create`, `keys list`) don't take it.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';

export const SERVING_LOCK_FILE = 'serving.lock';

export class DataDirInUseError extends Error {
  override readonly name = 'DataDirInUseError';
  constructor(readonly dataDir: string) {
    super(`another drover-cloud serves from ${dataDir}: stop it first, or set DROVER_DATA_DIR to another directory`);
  }
}

/**
 * Takes the lock; returns the function that gives it back.
 * @throws DataDirInUseError where another process (or another server of this one) holds it.
 */
export function takeServingLock(dataDir: string): () => void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = new Sqlite(join(dataDir, SERVING_LOCK_FILE), { timeout: 0 });
  try {
    file.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    file.close();
    if (error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY'))
      throw new DataDirInUseError(dataDir);
    throw error;
  }
  return () => file.close();
}
