import type { Logger } from 'pino';
import { isStoreUnavailable } from './errors.js';
import type { Store, Tx } from './store.js';

const WRITE_INTERVAL_MS = 250;
const RETRY_INTERVAL_MS = 2_000;

export interface GroupedWritesOptions<T> {
  readonly store: Store;
  readonly log: Logger;
  /** For the log, of what could not be written. */
  readonly what: string;
  readonly write: (tx: Tx, key: number, value: T) => Promise<void>;
  /** True: what the store can not take now (a full disk) waits, under whatever came since, and is tried again. */
  readonly insists?: boolean;
}

/**
 * Writes what is told often and worth little by itself: whatever came, of all robots, in one transaction at most every
 * WRITE_INTERVAL_MS, one value a robot, which its owner merges. What waits is lost in a crash of ours, and what the store
 * refuses is left out unless `insists`, said: only for what robots tell again.
 */
export class GroupedWrites<T> {
  readonly #options: GroupedWritesOptions<T>;
  #pending = new Map<number, T>();
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: GroupedWritesOptions<T>) {
    this.#options = options;
  }

  /** What waits of this robot, `make` where nothing does, to be merged into; written at the next turn. */
  of(robotKey: number, make: () => T): T {
    const value = this.#pending.get(robotKey) ?? make();
    this.#pending.set(robotKey, value);
    // In a microtask: the caller has yet to put into the value what it is about.
    if (!this.#stopped && !this.#writing && !this.#timer) this.#write();
    return value;
  }

  /** Writes what waits. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.settled();
  }

  /** Resolves when all that was told is written. */
  async settled(): Promise<void> {
    while (this.#writing || this.#pending.size > 0) await (this.#writing ?? this.#write());
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writeGroup().then((pauseMs) => {
      this.#writing = undefined;
      if (this.#stopped) return;
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        if (this.#pending.size > 0) this.#write();
      }, pauseMs).unref();
    });
    return this.#writing;
  }

  /** Never rejects. Returns how long to wait before the next, ms. */
  async #writeGroup(): Promise<number> {
    await Promise.resolve();
    const { store, write, log, what } = this.#options;
    const pending = this.#pending;
    this.#pending = new Map();
    try {
      await store.db.transaction().execute(async (tx) => {
        for (const [robotKey, value] of pending) await write(tx, robotKey, value);
      });
      return WRITE_INTERVAL_MS;
    } catch (error) {
      log.error({ err: error }, `${what} could not be written`);
      if (!this.#options.insists || this.#stopped || !isStoreUnavailable(error)) return WRITE_INTERVAL_MS;
      for (const [robotKey, value] of pending) {
        if (!this.#pending.has(robotKey)) this.#pending.set(robotKey, value);
      }
      return RETRY_INTERVAL_MS;
    }
  }
}
