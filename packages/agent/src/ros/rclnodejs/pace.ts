export interface PaceOptions {
  /** So many turns are given at once after a rest. */
  readonly size: number;
  /** And one every so many milliseconds on average after those. */
  readonly gapMs: number;
  /** Waited for once, before the turn that follows the first `size`. */
  readonly afterFirst: () => Promise<void>;
  /** Milliseconds on a clock that never jumps. */
  readonly now: () => number;
  /** May reject: the turn then does, too. */
  readonly sleep: (ms: number) => Promise<void>;
}

/** Gives turns in the order they are asked for, no faster than so many in a row and then one at a time. */
export class Pace {
  readonly #options: PaceOptions;
  /** When all turns taken so far would be used up at one every `gapMs`. */
  #usedUpAtMs = Number.NEGATIVE_INFINITY;
  #turns = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** @throws what `sleep` and `afterFirst` do */
  turn(): Promise<void> {
    const turn = this.#last.then(() => this.#take());
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #take(): Promise<void> {
    const { size, gapMs, afterFirst, now, sleep } = this.#options;
    if (this.#turns === size) await afterFirst();
    this.#turns += 1;
    const nowMs = now();
    this.#usedUpAtMs = Math.max(this.#usedUpAtMs, nowMs) + gapMs;
    const waitMs = this.#usedUpAtMs - nowMs - size * gapMs;
    if (waitMs > 0) await sleep(waitMs);
  }
}
