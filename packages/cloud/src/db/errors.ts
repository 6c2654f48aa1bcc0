/** SQLite's primary result codes that speak of the disk or of another process, not of the statement. */
const UNAVAILABLE = [
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_READONLY',
  'SQLITE_CANTOPEN',
  'SQLITE_BUSY',
  'SQLITE_NOMEM',
];

/** True where the store can't take or give data now (disk full, I/O error, read-only): worth trying again later. */
export function isStoreUnavailable(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && UNAVAILABLE.some((primary) => code === primary || code.startsWith(`${primary}_`));
}

/** True where a UNIQUE or PRIMARY KEY constraint refused the row. */
export function isUniqueViolation(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY';
}

function sqliteCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' && error.code.startsWith('SQLITE_') ? error.code : undefined;
}
