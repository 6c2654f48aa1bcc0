/**
 * Opening the store, also where its disk is full or another program holds a lock on it just then: a cloud that ended instead would be
 * started again and again by whatever supervises it, and given up by systemd after the fifth time.
 */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { takeServingLock } from './serving-lock.js';
import { openStore, type Store } from './store.js';

const RETRY_MS = 2_000;
const SAY_INTERVAL_MS = 60_000;
/** The WAL's index takes 32 KiB as soon as a store is opened. */
const PROBE_BYTES = 64 * 1024;

/**
 * Takes the data directory and opens its store, once the disk allows it; says so once a minute until then.
 * @param signal ends the wait; its reason is thrown.
 * @throws what takeServingLock and openStore throw for any other reason.
 */
export async function openWhenDiskAllows(options: {
  dataDir: string;
  now: () => number;
  log: Logger;
  signal: AbortSignal;
}): Promise<{ store: Store; release: () => void }> {
  const { dataDir, now, log, signal } = options;
  for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
    try {
      return open(dataDir, now());
    } catch (error) {
      const why = remedy(error, dataDir);
      if (why === null) throw error;
      if (waitedMs % SAY_INTERVAL_MS === 0) {
        log.error({ data_dir: dataDir, err: error }, `the store can not be opened: ${why}. The cloud starts then`);
      }
      await sleep(RETRY_MS, undefined, { signal });
    }
  }
}

function open(dataDir: string, nowMs: number): { store: Store; release: () => void } {
  const release = takeServingLock(dataDir);
  try {
    return { store: openStore({ dataDir, nowMs }), release };
  } catch (error) {
    release();
    throw error;
  }
}

/** What would help, where it can come by itself; null where the cloud has to be started otherwise. */
function remedy(error: unknown, dataDir: string): string | null {
  const code = codeOf(error);
  if (code.startsWith('SQLITE_BUSY')) return 'another program holds a lock on it (an open sqlite3?): end it';
  const isOfDisk = code.startsWith('SQLITE_') || code === 'ENOSPC' || code === 'EDQUOT';
  // SQLite says only that it can't open a file, or make its index: a write of our own says why.
  return isOfDisk && isFull(dataDir) ? 'its disk is full: make room' : null;
}

function isFull(dataDir: string): boolean {
  const path = join(dataDir, 'probe');
  try {
    const file = openSync(path, 'w', 0o600);
    try {
      if (writeSync(file, new Uint8Array(PROBE_BYTES)) < PROBE_BYTES) return true;
      fsyncSync(file);
    } finally {
      closeSync(file);
      rmSync(path, { force: true });
    }
    return false;
  } catch (error) {
    return ['ENOSPC', 'EDQUOT'].includes(codeOf(error));
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
