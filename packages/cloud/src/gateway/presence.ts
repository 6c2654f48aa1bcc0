import type { SessionEnding } from '@drover/shared/api/link';
import type { Logger } from 'pino';
import { ExpectedBack } from './expected-back.js';

/** A socket that just broke is often back at once: its robot counts as online this much longer. */
const RESET_GRACE_MS = 3_000;

/**
 * A robot that keeps losing its connection gets twice the grace each time, up to this: what it then still counts as online
 * ends before the 25 s within which a lost robot is to be offline.
 */
const FLAPPING_GRACE_MAX_MS = 20_000;

/** Connections lost longer ago than this no longer make a robot a flapping one. */
const FLAPPING_MEMORY_MS = 60_000;

/** After a start, who is not back yet is looked at this often. */
const START_LOOK_MS = 1_000;

/** Changes are stored together, at most this often: a transaction each would be 500 syncs of the disk for 500 robots. */
const STORE_INTERVAL_MS = 100;

/** One transaction holds at most so many, so that a command's own waits for no more than that. */
const CHANGES_A_TRANSACTION = 500;

/** What the store refused (a full disk, say) is written again this often. */
const RETRY_MS = 2_000;

export interface PresenceChange {
  readonly robotKey: number;
  readonly online: boolean;
  readonly atMs: number;
}

/** Changes that the store has not taken yet, the newest of each robot. */
export type UnstoredChanges = Map<number, PresenceChange>;

export interface PresenceStore {
  /** All in one transaction; a robot that is as the change says keeps the time it has been so. */
  setOnline(changes: readonly PresenceChange[]): Promise<void>;
  onlineKeys(): Promise<number[]>;
}

/** A robot that lost its connection, how often in a row, and when last. */
interface Losses {
  count: number;
  lastMs: number;
}

/**
 * Turns sessions that come and go into `online`: a clean close counts at once, a reset after a moment (a longer one the
 * more often it happens), a replacement not at all. The store keeps what it last knew through a crash; `start` settles who did not come
 * back. Changes are stored in groups, of each robot the newest: one that is overtaken while it waits is never written, nor
 * one that the store refuses.
 */
export class Presence {
  readonly #store: PresenceStore;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #monotonicNow: () => number;
  readonly #leaving = new Map<number, NodeJS.Timeout>();
  /** Undefined once it is settled who came back after our start, and who did not. */
  #expected: ExpectedBack | undefined;
  readonly #losses = new Map<number, Losses>();
  readonly #unstored: UnstoredChanges;
  #startTimer: NodeJS.Timeout | undefined;
  #loop: Promise<void> | undefined;
  #hurry: () => void = () => {};
  #stopped = false;
  readonly #resetGraceMs: number;
  readonly #startGraceMs: number | undefined;
  readonly #retryMs: number;
  readonly #storeIntervalMs: number;

  constructor(options: {
    store: PresenceStore;
    log: Logger;
    now: () => number;
    /** Milliseconds that only go forward. */
    monotonicNow: () => number;
    /** Kept by this: what reads show besides the store, which may take nothing for hours. */
    unstored?: UnstoredChanges;
    resetGraceMs?: number;
    startGraceMs?: number;
    retryMs?: number;
    storeIntervalMs?: number;
  }) {
    this.#resetGraceMs = options.resetGraceMs ?? RESET_GRACE_MS;
    this.#startGraceMs = options.startGraceMs;
    this.#retryMs = options.retryMs ?? RETRY_MS;
    this.#storeIntervalMs = options.storeIntervalMs ?? STORE_INTERVAL_MS;
    this.#unstored = options.unstored ?? new Map();
    this.#store = options.store;
    this.#log = options.log;
    this.#now = options.now;
    this.#monotonicNow = options.monotonicNow;
  }

  async start(): Promise<void> {
    const remembered = await this.#store.onlineKeys();
    if (remembered.length === 0) return;
    const expected = new ExpectedBack(remembered, this.#monotonicNow(), this.#startGraceMs);
    this.#expected = expected;
    const look = () => {
      for (const robotKey of expected.lost(this.#monotonicNow())) this.#set(robotKey, false);
      if (expected.size === 0) this.#settled();
    };
    this.#startTimer = setInterval(look, Math.min(START_LOOK_MS, this.#startGraceMs ?? START_LOOK_MS)).unref();
  }

  #settled(): void {
    clearInterval(this.#startTimer);
    this.#expected = undefined;
  }

  /** Stores what has happened, and no more: sessions that end now do so because we stop, not because the robots left. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#settled();
    for (const timer of this.#leaving.values()) clearTimeout(timer);
    this.#leaving.clear();
    this.#hurry();
    await this.#loop;
  }

  opened(robotKey: number): void {
    clearTimeout(this.#leaving.get(robotKey));
    this.#leaving.delete(robotKey);
    this.#expected?.came(robotKey);
    this.#set(robotKey, true);
  }

  /** The robot has asked for a session, and waits for it, or was told to come again in `inMs`. */
  comes(robotKey: number, inMs = 0): void {
    this.#expected?.comes(robotKey, inMs, this.#monotonicNow());
  }

  /** The robot's only session ended (not one that was replaced). */
  closed(robotKey: number, ending: SessionEnding): void {
    if (ending === 'reset') {
      const timer = setTimeout(() => this.#left(robotKey), this.#graceMs(robotKey)).unref();
      this.#leaving.set(robotKey, timer);
    } else {
      this.#left(robotKey);
    }
  }

  /** Counts a loss; returns how long the robot may take to come back before it counts as offline. */
  #graceMs(robotKey: number): number {
    const nowMs = this.#monotonicNow();
    for (const [key, { lastMs }] of this.#losses) {
      // In the order of the last loss: the first that is young enough ends the search.
      if (nowMs - lastMs < FLAPPING_MEMORY_MS) break;
      this.#losses.delete(key);
    }
    const count = (this.#losses.get(robotKey)?.count ?? 0) + 1;
    this.#losses.delete(robotKey);
    this.#losses.set(robotKey, { count, lastMs: nowMs });
    return Math.min(FLAPPING_GRACE_MAX_MS, this.#resetGraceMs * 2 ** Math.min(count - 1, 16));
  }

  #left(robotKey: number): void {
    this.#leaving.delete(robotKey);
    this.#set(robotKey, false);
  }

  #set(robotKey: number, online: boolean): void {
    this.#unstored.set(robotKey, { robotKey, online, atMs: this.#now() });
    this.#loop ??= this.#storeAll();
  }

  /** Never rejects. */
  async #storeAll(): Promise<void> {
    // A turn of the event loop, in which other robots' changes join.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#unstored.size > 0) {
      const stored = await this.#storeSome();
      if (this.#stopped && !stored) break;
      const waitMs = stored ? this.#storeIntervalMs : this.#retryMs;
      await new Promise<void>((resolve) => {
        this.#hurry = resolve;
        if (this.#stopped) resolve();
        else setTimeout(resolve, waitMs).unref();
      });
    }
    this.#loop = undefined;
  }

  async #storeSome(): Promise<boolean> {
    const changes = [...this.#unstored.values()].slice(0, CHANGES_A_TRANSACTION);
    try {
      await this.#store.setOnline(changes);
    } catch (error) {
      this.#log.error({ err: error, robots: changes.length }, 'presence not stored');
      return false;
    }
    for (const change of changes) {
      if (this.#unstored.get(change.robotKey) === change) this.#unstored.delete(change.robotKey);
    }
    return true;
  }
}
