/**
 * Things that are dear to make and are kept by key for the next use: ROS publishers and clients, each of which takes
 * discovery some time to match. One unused for `idleMs` is let go at the next sweep. There are at most `max`: past that
 * the one unused longest goes, of those that may go at all; where none may, there is one more.
 */
export class Kept<T> {
  readonly #options: KeptOptions<T>;
  /** In the order of their last use. */
  readonly #entries = new Map<string, { value: T; lastUsedMs: number }>();

  constructor(options: KeptOptions<T>) {
    this.#options = options;
  }

  /** The one of `key`, made where there is none. @throws what `make` throws */
  get(key: string, make: () => T): T {
    const known = this.#entries.get(key);
    if (known === undefined && this.#entries.size >= this.#options.max) this.#makeRoom();
    const value = known === undefined ? make() : known.value;
    this.#entries.delete(key);
    this.#entries.set(key, { value, lastUsedMs: this.#options.now() });
    return value;
  }

  /** Counts as a use, at the end of a long one. */
  touch(key: string): void {
    const entry = this.#entries.get(key);
    if (entry) entry.lastUsedMs = this.#options.now();
  }

  /** The one of `key` is not given out again, but is let go no sooner than it may. */
  retire(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#entries.set(`${key} retired at ${this.#options.now()}`, { ...entry, lastUsedMs: Number.NEGATIVE_INFINITY });
  }

  sweep(): void {
    const since = this.#options.now() - this.#options.idleMs;
    for (const [key, { value, lastUsedMs }] of this.#entries) {
      if (lastUsedMs < since && this.#options.mayGo(value, 'idle')) this.#letGo(key, value);
    }
  }

  *values(): Generator<T> {
    for (const { value } of this.#entries.values()) yield value;
  }

  #makeRoom(): void {
    for (const [key, { value }] of this.#entries) {
      if (!this.#options.mayGo(value, 'room')) continue;
      this.#letGo(key, value);
      return;
    }
  }

  #letGo(key: string, value: T): void {
    this.#entries.delete(key);
    this.#options.letGo(value);
  }
}

export interface KeptOptions<T> {
  readonly max: number;
  readonly idleMs: number;
  /** Milliseconds on a clock that never jumps. */
  readonly now: () => number;
  /** Whether it may be let go, for being idle or to make room. */
  readonly mayGo: (value: T, why: 'idle' | 'room') => boolean;
  readonly letGo: (value: T) => void;
}
