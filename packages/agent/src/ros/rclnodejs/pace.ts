export interface PaceOptions {
  /** At most so many turns … */
  readonly size: number;
  /** … in any so many milliseconds. */
  readonly windowMs: number;
  /** Waited for once, before the turn that follows the first `size`. */
  readonly afterFirst: () => Promise<void>;
  /** Milliseconds on a clock that never jumps. */
  readonly now: () => number;
  /** May reject: the turn then does, too. */
  readonly sleep: (ms: number) => Promise<void>;
}

/** Gives turns in the order they are asked for, at most so many in any stretch of time; at once where there is room. */
export class Pace {
  readonly #options: PaceOptions;
  /** When the last `size` turns were given, the oldest first. */
  readonly #given: number[] = [];
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
    const { size, windowMs, afterFirst, now, sleep } = this.#options;
    if (this.#turns === size) await afterFirst();
    this.#turns += 1;
    const [oldest] = this.#given;
    if (this.#given.length === size && oldest !== undefined) {
      // A timer may be early by a part of a millisecond.
      for (let waitMs = oldest + windowMs - now(); waitMs > 0; waitMs = oldest + windowMs - now()) await sleep(waitMs);
      this.#given.shift();
    }
    this.#given.push(now());
  }
}
