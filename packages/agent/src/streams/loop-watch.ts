const TICK_MS = 50;
/** A tick this much later than due is a stall. */
const STALL_MS = 25;

/**
 * Notices when the event loop stood still (a slow disk, a stopped process): messages that arrive in one bunch after it
 * were in truth received one after the other while it stood.
 */
export class LoopWatch {
  readonly #monotonicNow: () => number;
  #previousMs: number;
  #lastMs: number;
  #timer: NodeJS.Timeout | null = null;

  constructor(monotonicNow: () => number) {
    this.#monotonicNow = monotonicNow;
    this.#lastMs = monotonicNow();
    this.#previousMs = this.#lastMs;
  }

  start(): void {
    this.#lastMs = this.#monotonicNow();
    this.#previousMs = this.#lastMs;
    this.#timer ??= setInterval(() => {
      this.#previousMs = this.#lastMs;
      this.#lastMs = this.#monotonicNow();
    }, TICK_MS).unref();
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** When the loop last turned before the stall that has just ended; null where there was none. */
  stalledSince(nowMs: number): number | null {
    if (nowMs - this.#lastMs > TICK_MS + STALL_MS) return this.#lastMs;
    // After a stall the watch's own timer may have been first.
    const justTicked = nowMs - this.#lastMs < STALL_MS;
    return justTicked && this.#lastMs - this.#previousMs > TICK_MS + STALL_MS ? this.#previousMs : null;
  }
}
