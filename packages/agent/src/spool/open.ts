import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { openStoreFile, type StoreFileOptions, setAside } from '../disk/store-file.js';
import type { Boot } from './clocks.js';
import { checkInboxFile, Inbox } from './inbox.js';
import { INBOX_MIGRATIONS } from './inbox-tables.js';
import { SPOOL_MIGRATIONS } from './schema.js';
import { Spool } from './spool.js';
import { SpoolStore } from './store.js';

export interface OpenOptions {
  readonly dataDir: string;
  readonly newId: () => string;
  /** Wall clock, for names of files set aside. */
  readonly now: () => number;
  readonly monotonicNow: () => number;
  readonly log: Logger;
}

/** Opens the spool of a data directory, new where there is none. @throws SQLite's error where the disk refuses. */
export function openSpool(
  options: OpenOptions & { readonly bytesMax: number; readonly memoryBytesMax?: number; readonly boot?: Boot },
): Spool {
  const file: StoreFileOptions = {
    ...options,
    path: join(options.dataDir, 'spool.db'),
    migrations: SPOOL_MIGRATIONS,
    log: options.log.child({ part: 'spool' }),
  };
  return new Spool({
    ...options,
    log: file.log,
    open: () => openStoreFile(file, (opened) => new SpoolStore(opened)),
    setAside: (why, detail) => setAside(file, why, detail),
    diskFreeBytes: () => freeBytes(options.dataDir),
  });
}

/** What is free for this user; null where the system does not say. */
function freeBytes(dataDir: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(dataDir);
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** Opens the command inbox of a data directory, new where there is none. @throws as openSpool. */
export function openInbox(options: OpenOptions): Inbox {
  const file: StoreFileOptions = {
    ...options,
    path: join(options.dataDir, 'inbox.db'),
    migrations: INBOX_MIGRATIONS,
    log: options.log.child({ part: 'inbox' }),
  };
  return new Inbox({
    newId: options.newId,
    now: options.now,
    log: file.log,
    open: () => openStoreFile(file, checkInboxFile),
    setAside: (why, detail) => setAside(file, why, detail),
  });
}
