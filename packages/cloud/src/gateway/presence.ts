import type { Logger } from 'pino';
import type { Ending } from './connection.js';

/** A socket that just broke is often back at once: its robot counts as online this much longer. */
const RESET_GRACE_MS = 3_000;

/** After a start, robots that the store remembers as online have this long to come back before they count as offline. */
const START_GRACE_MS = 20_000;

export interface PresenceStore {
  setOnline(robotKey: number, online: boolean, atMs: number): Promise<void>;
  onlineKeys(): Promise<number[]>;
}

/**
 * Turns sessions that come and go into `online`: a clean close counts at once, a reset after a moment, a replacement not
 * at all. The store keeps what it last knew through a crash; `start` settles who did not come back.
 */
export class Presence {
  readonly #store: PresenceStore;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #leaving = new Map<number, NodeJS.Timeout>();
  readonly #here = new Set<number>();
  #startTimer: NodeJS.Timeout | undefined;

  readonly #resetGraceMs: number;
  readonly #startGraceMs: number;

  constructor(options: {
    store: PresenceStore;
    log: Logger;
    now: () => number;
    resetGraceMs?: number;
    startGraceMs?: number;
  }) {
    this.#resetGraceMs = options.resetGraceMs ?? RESET_GRACE_MS;
    this.#startGraceMs = options.startGraceMs ?? START_GRACE_MS;
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
    this.#store.setOnline(robotKey, online, this.#now()).catch((error: unknown) => {
      this.#log.error({ err: error, robot_key: robotKey, online }, 'presence not stored');
    });
  }
}
