import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

/** A disk that takes no writes is asked again this often, and said this often. */
const RETRY_MS = 2_000;
const SAY_INTERVAL_MS = 60_000;

/** What SQLite's index of a WAL takes as soon as the file is opened, and a little more. */
const PROBE_BYTES = 64 * 1024;

/** What may pass by itself, or by somebody who makes room; not what the agent's user may not do (EACCES). */
const REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: 'its disk is full: make room',
  EDQUOT: "its user's disk quota is used up: make room",
  EROFS: 'its file system is read-only: remount it (a broken disk does that too, see dmesg)',
  EIO: 'its disk reports errors (see dmesg): replace it',
  SQLITE_BUSY: 'another program holds a lock on one of its files (an open sqlite3?): end it',
};

export interface PatienceOptions {
  readonly dataDir: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/**
 * Does what needs the disk, again and again while the disk takes no writes: an agent that ended instead would be started
 * anew without end, or not at all. Says so, with the remedy, once a minute.
 * @throws what `action` throws for any other reason; the signal's reason when that is aborted.
 */
export async function whenDiskTakesIt<T>(action: () => T, options: PatienceOptions): Promise<T> {
  const { dataDir, signal, log } = options;
  for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
    try {
      const result = action();
      if (waitedMs > 0) log.info({ data_dir: dataDir }, 'the disk takes writes again; the agent starts');
      return result;
    } catch (error) {
      const why = diskRefusal(error, dataDir);
      if (why === null) throw error;
      if (waitedMs % SAY_INTERVAL_MS === 0) {
        const reason = error instanceof Error ? error.message : String(error);
        log.error({ data_dir: dataDir, reason }, `the data directory takes no writes: ${why}. The agent starts then`);
      }
      await sleep(RETRY_MS, undefined, { signal });
    }
  }
}

/** Why the disk refused, with the remedy; null where the error is no refusal of the disk. */
function diskRefusal(error: unknown, dataDir: string): string | null {
  const code = codeOf(error);
  if (code === null) return null;
  // A directory that can't even be made is a wrong setting rather than a disk that has a bad day.
  if (code !== 'ENOSPC' && !existsSync(dataDir)) return null;
  if (code.startsWith('SQLITE_BUSY')) return REMEDIES.SQLITE_BUSY ?? null;
  // SQLite's codes don't tell a full disk from a forbidden directory (SQLITE_CANTOPEN): a write of our own does.
  return REMEDIES[code] ?? REMEDIES[probe(dataDir) ?? ''] ?? null;
}

/** The error's code, or that of what caused it. */
function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return codeOf(error.cause);
}

/** The code a small write ends with; null where it succeeds. */
function probe(dataDir: string): string | null {
  const path = join(dataDir, 'probe');
  try {
    const file = openSync(path, 'w', 0o600);
    try {
      // Cut short rather than refused where only a part fits.
      if (writeSync(file, new Uint8Array(PROBE_BYTES)) < PROBE_BYTES) return 'ENOSPC';
      fsyncSync(file);
    } finally {
      closeSync(file);
      rmSync(path, { force: true });
    }
    return null;
  } catch (error) {
    return codeOf(error);
  }
}
