import { Sampler } from './sampler.js';

export interface PacedSamplerOptions<T> {
  readonly hz: number;
  /** How often a second messages are offered: one that waits is kept so much after its due time, newer ones first seen. */
  readonly drainHz: number;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
  readonly keep: (item: T) => void;
  /** Told of what is not kept. */
  readonly passOver?: (item: T) => void;
}

/** A sampler with its timer: a message that waits for its token is kept even if no other follows it. */
export class PacedSampler<T> {
  readonly #options: PacedSamplerOptions<T>;
  readonly #sampler: Sampler<T>;
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: PacedSamplerOptions<T>) {
    this.#options = options;
    this.#sampler = new Sampler(options.hz, options.passOver);
  }

  /** @param atMs when it arrived, by the monotonic clock. */
  offer(item: T, atMs: number): void {
    const kept = this.#sampler.offer(item, atMs);
    for (const one of kept) this.#options.keep(one);
    // What the timer was for has been kept.
    if (kept.length > 0) this.#cancel();
    this.#waitForDue();
  }

  /** Keeps an item whose time has come, instead of the older one that may wait; where it has not, the item waits. */
  offerNewest(item: T, atMs: number): void {
    this.#sampler.forget();
    this.#cancel();
    this.offer(item, atMs);
  }

  /** What came in so many milliseconds may be offered at once until then. */
  catchUp(ms: number, untilMs: number): void {
    this.#sampler.catchUp(ms, untilMs, this.#options.monotonicNow());
  }

  /** From when on the next message is kept; null before the first. */
  nextMs(): number | null {
    return this.#sampler.nextMs();
  }

  /** How many might have been kept beside what was, and can't be caught up with any more; counted anew from here on. */
  takeUnused(): number {
    return this.#sampler.takeUnused();
  }

  /** What still waits is left out. */
  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  #cancel(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #waitForDue(): void {
    const { drainHz, monotonicNow, keep } = this.#options;
    const dueMs = this.#sampler.dueMs();
    if (dueMs === null || this.#timer !== null || this.#stopped) return;
    const delayMs = Math.max(0, dueMs - monotonicNow()) + 1000 / drainHz;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      for (const kept of this.#sampler.due(monotonicNow())) keep(kept);
      this.#waitForDue();
    }, delayMs).unref();
  }
}
