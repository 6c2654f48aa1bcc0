import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { openStoreFile, type StoreFile, type StoreFileOptions, setAside } from '../disk/store-file.js';
import { checkInboxFile, Inbox } from './inbox.js';
import { INBOX_MIGRATIONS } from './inbox-tables.js';
import type { BatchRecord } from './rows.js';
import { SPOOL_MIGRATIONS } from './schema.js';
import { Spool, type SpoolOptions } from './spool.js';
import { SpoolStore, type SpoolWork } from './store.js';

export interface OpenOptions {
  readonly dataDir: string;
  readonly newId: () => string;
  /** Wall clock, for names of files set aside. */
  readonly now: () => number;
  readonly monotonicNow: () => number;
  readonly log: Logger;
}

export interface OpenSpoolOptions
  extends OpenOptions,
    Pick<SpoolOptions, 'bytesMax' | 'ageMsMax' | 'memoryBytesMax' | 'boot'> {
  /** Told with every write whether the disk took it. */
  readonly onWrite?: (taken: boolean) => void;
}

/** Opens the spool of a data directory, new where there is none. @throws SQLite's error where the disk refuses. */
export function openSpool(options: OpenSpoolOptions): Spool {
  const file: StoreFileOptions = {
    ...options,
    path: join(options.dataDir, 'spool.db'),
    migrations: SPOOL_MIGRATIONS,
    log: options.log.child({ part: 'spool' }),
  };
  return new Spool({
    ...options,
    log: file.log,
    open: () => openStoreFile(file, (opened) => new ToldStore(opened, options.onWrite ?? (() => {}))),
    setAside: (why, detail) => setAside(file, why, detail),
    diskFreeBytes: () => freeBytes(options.dataDir),
  });
}

/** A store that tells how its writes went. */
class ToldStore extends SpoolStore {
  readonly #tell: (taken: boolean) => void;

  constructor(file: StoreFile, tell: (taken: boolean) => void) {
    super(file);
    this.#tell = tell;
  }

  override commit(work: SpoolWork): BatchRecord[] {
    let taken = false;
    try {
      const formed = super.commit(work);
      taken = true;
      return formed;
    } finally {
      this.#tell(taken);
    }
  }
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
