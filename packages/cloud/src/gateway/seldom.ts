/** Keeps from the log what may come any number of times: one line is said at once, the next after a while, with how many there were. */
export class Seldom {
  readonly #everyMs: number;
  readonly #monotonicNow: () => number;
  #saidMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(everyMs: number, monotonicNow: () => number) {
    this.#everyMs = everyMs;
    this.#monotonicNow = monotonicNow;
  }

  /** It came about once more: how many came since the last that was said, this one included, or 0 where none is to be said now. */
  came(): number {
    this.#count += 1;
    const nowMs = this.#monotonicNow();
    if (nowMs - this.#saidMs < this.#everyMs) return 0;
    const count = this.#count;
    this.#saidMs = nowMs;
    this.#count = 0;
    return count;
  }
}
