import { setTimeout } from 'node:timers/promises';
import { abortable } from './waiting.js';

export interface PaceOptions {
  /** So many turns are given at once after a rest. */
  readonly size: number;
  /** And one every so many milliseconds on average after those. */
  readonly gapMs: number;
  /** Waited for once, before the turn that follows the first `size`. */
  readonly afterFirst: () => Promise<void>;
}

/** Gives turns in the order they are asked for, no faster than so many in a row and then one at a time. */
export class Pace {
  readonly #options: PaceOptions;
  readonly #now: () => number;
  readonly #stopped: AbortSignal;
  /** When all turns taken so far would be used up at one every `gapMs`. */
  #usedUpAtMs = Number.NEGATIVE_INFINITY;
  #turns = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(options: PaceOptions, { now, stopped }: { now: () => number; stopped: AbortSignal }) {
    this.#options = options;
    this.#now = now;
    this.#stopped = stopped;
  }

  /** @throws the signal's reason where it stops */
  turn(): Promise<void> {
    const turn = this.#last.then(() => this.#take());
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #take(): Promise<void> {
    const { size, gapMs, afterFirst } = this.#options;
    if (this.#turns === size) await afterFirst();
    this.#turns += 1;
    const nowMs = this.#now();
    this.#usedUpAtMs = Math.max(this.#usedUpAtMs, nowMs) + gapMs;
    const waitMs = this.#usedUpAtMs - nowMs - size * gapMs;
    if (waitMs > 0) await abortable(this.#stopped, setTimeout(waitMs));
  }
}
