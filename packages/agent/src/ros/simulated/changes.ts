import { GraphStoppedError } from '../graph.js';
import type { SimulatedClock } from './clock.js';

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Waits on the graph, all of which end with it. Each has a deadline, and there are as many as callers.
 */
export class Changes {
  readonly #clock: SimulatedClock;
  readonly #watchers = new Set<() => void>();
  readonly #waits = new Set<(error: Error) => void>();
  #stopped = false;

  constructor(clock: SimulatedClock) {
    this.#clock = clock;
  }

  /** Tells the waits that an endpoint came or went. */
  notify(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }

  /** Ends every wait, now and later, with GraphStoppedError. */
  stop(): void {
    this.#stopped = true;
    for (const reject of [...this.#waits]) reject(new GraphStoppedError());
  }

  /** @throws GraphStoppedError once stopped. */
  check(): void {
    if (this.#stopped) throw new GraphStoppedError();
  }

  /**
   * Resolves with what `find` finds, now or after a change; undefined at the deadline.
   * @throws GraphStoppedError, or the signal's reason.
   */
  async find<T>(find: () => T | undefined, options: WaitOptions): Promise<T | undefined> {
    this.check();
    options.signal?.throwIfAborted();
    const found = find();
    if (found !== undefined || options.timeoutMs <= 0) return found;
    let watcher = () => {};
    const appeared = new Promise<T>((resolve) => {
      watcher = () => {
        const later = find();
        if (later !== undefined) resolve(later);
      };
      this.#watchers.add(watcher);
    });
    try {
      return await this.within(appeared, options);
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  /**
   * The promise's result; undefined at the deadline (none where `timeoutMs` is infinite).
   * @throws what the promise rejects with, GraphStoppedError, or the signal's reason.
   */
  within<T>(promise: Promise<T>, { timeoutMs, signal }: WaitOptions): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const abort = () => end(() => reject(signal?.reason));
      const stop = (error: Error) => end(() => reject(error));
      const cancelTimer = Number.isFinite(timeoutMs)
        ? this.#clock.after(timeoutMs, () => end(() => resolve(undefined)))
        : () => {};
      const end = (settle: () => void) => {
        cancelTimer();
        signal?.removeEventListener('abort', abort);
        this.#waits.delete(stop);
        settle();
      };
      this.#waits.add(stop);
      signal?.addEventListener('abort', abort);
      promise.then(
        (value) => end(() => resolve(value)),
        (error) => end(() => reject(error)),
      );
      if (this.#stopped) stop(new GraphStoppedError());
      else if (signal?.aborted) abort();
    });
  }
}
