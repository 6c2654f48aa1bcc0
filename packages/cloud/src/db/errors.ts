/** SQLite's primary result codes that speak of the disk or of another process, not of the statement. */
const UNAVAILABLE = [
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_READONLY',
  'SQLITE_CANTOPEN',
  'SQLITE_BUSY',
  'SQLITE_NOMEM',
] as const;

/** What each says to who can do something about it. */
const WORDS: Readonly<Record<(typeof UNAVAILABLE)[number], string>> = {
  SQLITE_FULL: 'its disk is full',
  SQLITE_IOERR: 'its disk reports errors',
  SQLITE_READONLY: 'its files are read-only',
  SQLITE_CANTOPEN: 'its files can not be opened',
  SQLITE_BUSY: 'another program holds a lock on it',
  SQLITE_NOMEM: 'memory is short',
};

/** True where the store can't take or give data now (disk full, I/O error, read-only): worth trying again later. */
export function isStoreUnavailable(error: unknown): boolean {
  return whyUnavailable(error) !== null;
}

/** Why the store can't take or give data now, in words for a message; null where that is not the matter. */
export function whyUnavailable(error: unknown): string | null {
  const code = sqliteCode(error);
  const primary = UNAVAILABLE.find((known) => code === known || code?.startsWith(`${known}_`));
  return primary === undefined ? null : WORDS[primary];
}

/** True where the store's file is broken: nothing passes by itself, a backup is needed. */
export function isStoreCorrupt(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === 'SQLITE_NOTADB' || (code?.startsWith('SQLITE_CORRUPT') ?? false);
}

/** What is wrong with the store itself, where an error tells of that and not of a defect of ours; `why` in words for a message. */
export function storeTrouble(error: unknown): { why: string; code: string } | null {
  const why = isStoreCorrupt(error) ? 'it is corrupt' : whyUnavailable(error);
  const code = sqliteCode(error);
  return why === null || code === undefined ? null : { why, code };
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
