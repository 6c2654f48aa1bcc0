import { ConfigError } from '../config.js';
import { BackupError } from '../db/backup.js';
import { isStoreCorrupt } from '../db/errors.js';
import { StoreTooNewError } from '../db/migrate.js';
import { DataDirInUseError } from '../db/serving-lock.js';
import { STORE_FILE } from '../db/store.js';
import { ListenError } from '../http/listener.js';
import { TenantExistsError } from '../tenants/tenants.js';
import { UsageError } from './store-commands.js';

const OPERATORS_TO_SOLVE = [
  BackupError,
  ConfigError,
  StoreTooNewError,
  DataDirInUseError,
  ListenError,
  TenantExistsError,
  UsageError,
] as const;

/** What to tell whoever started us: words where they can do something about it, the stack where it is our fault. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (OPERATORS_TO_SOLVE.some((kind) => error instanceof kind)) return error.message;
  if (isStoreCorrupt(error)) {
    return (
      `${STORE_FILE} in the data directory is corrupt (${error.message}): move it away together with ${STORE_FILE}-wal ` +
      `and ${STORE_FILE}-shm, put a backup in its place (docs/guide.md, Backup) and start again. Without a backup, ` +
      `"sqlite3 ${STORE_FILE} .recover" saves what can still be read`
    );
  }
  const code = 'code' in error ? String(error.code) : '';
  if (['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENOSPC'].includes(code) || code.startsWith('SQLITE_')) {
    return `the data directory can not be used: ${error.message} (DROVER_DATA_DIR sets it)`;
  }
  return error.stack ?? error.message;
}
