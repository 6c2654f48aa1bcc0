import type { Logger } from 'pino';
import type { Ending } from './connection.js';

/** A socket that just broke is often back at once: its robot counts as online this much longer. */
const RESET_GRACE_MS = 3_000;

/** After a start, robots that the store remembers as online have this long to come back before they count as offline. */
const START_GRACE_MS = 20_000;

/** What the store refused (a full disk, say) is written again this often. */
const RETRY_MS = 2_000;

interface Change {
  readonly online: boolean;
  readonly atMs: number;
}

export interface PresenceStore {
  setOnline(robotKey: number, online: boolean, atMs: number): Promise<void>;
  onlineKeys(): Promise<number[]>;
}

/**
 * Turns sessions that come and go into `online`: a clean close counts at once, a reset after a moment, a replacement not
 * at all. The store keeps what it last knew through a crash; `start` settles who did not come back. A change that the
 * store refuses is written again until it is taken or overtaken: one a robot at most.
 */
export class Presence {
  readonly #store: PresenceStore;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #leaving = new Map<number, NodeJS.Timeout>();
  readonly #here = new Set<number>();
  /** Changes on their way to the store, the newest of each robot. */
  readonly #unstored = new Map<number, Change>();
  #startTimer: NodeJS.Timeout | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  readonly #resetGraceMs: number;
  readonly #startGraceMs: number;
  readonly #retryMs: number;

  constructor(options: {
    store: PresenceStore;
    log: Logger;
    now: () => number;
    resetGraceMs?: number;
    startGraceMs?: number;
    retryMs?: number;
  }) {
    this.#resetGraceMs = options.resetGraceMs ?? RESET_GRACE_MS;
    this.#startGraceMs = options.startGraceMs ?? START_GRACE_MS;
    this.#retryMs = options.retryMs ?? RETRY_MS;
    this.#store = options.store;
    this.#log = options.log;
    this.#now = options.now;
  }

  async start(): Promise<void> {
    const remembered = await this.#store.onlineKeys();
    if (remembered.length === 0) return;
    this.#startTimer = setTimeout(() => {
      for (const robotKey of remembered) if (!this.#here.has(robotKey)) this.#set(robotKey, false);
    }, this.#startGraceMs).unref();
  }

  /** Leaves the store as it is: sessions end because we stop, not because the robots left. */
  stop(): void {
    clearTimeout(this.#startTimer);
    clearTimeout(this.#retryTimer);
    this.#unstored.clear();
    for (const timer of this.#leaving.values()) clearTimeout(timer);
    this.#leaving.clear();
    this.#here.clear();
  }

  opened(robotKey: number): void {
    clearTimeout(this.#leaving.get(robotKey));
    this.#leaving.delete(robotKey);
    this.#here.add(robotKey);
    this.#set(robotKey, true);
  }

  /** The robot's only session ended (not one that was replaced). */
  closed(robotKey: number, ending: Ending): void {
    if (ending === 'reset') {
      const timer = setTimeout(() => this.#left(robotKey), this.#resetGraceMs).unref();
      this.#leaving.set(robotKey, timer);
    } else {
      this.#left(robotKey);
    }
  }

  #left(robotKey: number): void {
    this.#leaving.delete(robotKey);
    this.#here.delete(robotKey);
    this.#set(robotKey, false);
  }

  #set(robotKey: number, online: boolean): void {
    this.#write(robotKey, { online, atMs: this.#now() });
  }

  #write(robotKey: number, change: Change): void {
    this.#unstored.set(robotKey, change);
    this.#store.setOnline(robotKey, change.online, change.atMs).then(
      () => {
        if (this.#unstored.get(robotKey) === change) this.#unstored.delete(robotKey);
      },
      (error: unknown) => {
        this.#log.error({ err: error, robot_key: robotKey, online: change.online }, 'presence not stored');
        this.#retryTimer ??= setTimeout(() => this.#retry(), this.#retryMs).unref();
      },
    );
  }

  #retry(): void {
    this.#retryTimer = undefined;
    for (const [robotKey, change] of [...this.#unstored]) this.#write(robotKey, change);
  }
}
