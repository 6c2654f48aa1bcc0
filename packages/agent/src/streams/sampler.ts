/** A publisher that was silent may be caught up with by so many messages at once; after a stall of ours, by more. */
export const BURST = 5;

/** A first message may have been received this much late, and those after it come as much too early for it. */
const START_JITTER_MS = 50;

/** Room for the rounding of repeated additions. */
const WHOLE = 1 - 1e-9;

/**
 * Lets `hz` messages a second through: a token bucket that starts with one token and the whole ones of START_JITTER_MS and
 * holds at most BURST (more after a stall: catchUp), with one place for a message that came before its token.
 *
 * So a publisher no faster than hz on average loses nothing to jitter (up to one period early, up to BURST periods late),
 * and of a faster one the newest message at each due time is kept. Pure: times are handed in, in milliseconds of a clock
 * that only grows.
 */
export class Sampler<T> {
  readonly #perMs: number;
  readonly #passedOver: (item: T) => void;
  #tokens: number;
  #filledMs: number | null = null;
  #pending: { readonly item: T } | null = null;
  #unused = 0;
  /** Tokens that it may hold beside BURST, until when. */
  #more = { tokens: 0, untilMs: Number.NEGATIVE_INFINITY };

  /** @param passedOver told of what is not kept, once that is certain */
  constructor(hz: number, passedOver: (item: T) => void = () => {}) {
    this.#perMs = hz / 1000;
    this.#passedOver = passedOver;
    this.#tokens = Math.min(BURST, Math.floor(1 + START_JITTER_MS * this.#perMs));
  }

  /** A message arrived; returns what is kept now: the one that waited, if its time has come, and this one, if its has. */
  offer(item: T, atMs: number): T[] {
    const kept = this.due(atMs);
    this.#fill(atMs);
    if (this.#pending === null && this.#tokens >= WHOLE) {
      this.#tokens -= 1;
      kept.push(item);
    } else {
      // The newest waits; the one that waited before it would only have been older at the same due time.
      this.forget();
      this.#pending = { item };
    }
    return kept;
  }

  /** The message that waited, if its time has come. */
  due(atMs: number): T[] {
    const dueMs = this.dueMs();
    if (this.#pending === null || dueMs === null || dueMs > atMs) return [];
    const { item } = this.#pending;
    this.#pending = null;
    this.#fill(dueMs);
    this.#tokens = Math.max(0, this.#tokens - 1);
    return [item];
  }

  /** What came in so many milliseconds may be offered at once until then: the tokens of that time are held so long. */
  catchUp(ms: number, untilMs: number, nowMs: number): void {
    const tokens = ms * this.#perMs;
    // A short stall follows a longer one: what that held up is not all there yet, but it gets no more time by this.
    if (tokens >= this.#more.tokens || nowMs > this.#more.untilMs) this.#more = { tokens, untilMs };
  }

  /** What waits is left out, for something newer is there. */
  forget(): void {
    const waiting = this.#pending;
    this.#pending = null;
    if (waiting) this.#passedOver(waiting.item);
  }

  /** When the waiting message is due; null where none waits. */
  dueMs(): number | null {
    return this.#pending === null ? null : this.nextMs();
  }

  /** From when on the next message is kept, or the one that waits; null before the first. */
  nextMs(): number | null {
    return this.#filledMs === null ? null : this.#filledMs + Math.max(0, WHOLE - this.#tokens) / this.#perMs;
  }

  /** How many might have been kept beside what was, and can't be caught up with any more; counted anew from here on. */
  takeUnused(): number {
    const unused = this.#unused;
    this.#unused = 0;
    return unused;
  }

  #fill(atMs: number): void {
    const sinceMs = Math.max(0, atMs - (this.#filledMs ?? atMs));
    const tokens = this.#tokens + sinceMs * this.#perMs;
    this.#tokens = Math.min(BURST + (atMs <= this.#more.untilMs ? this.#more.tokens : 0), tokens);
    this.#unused += tokens - this.#tokens;
    this.#filledMs = Math.max(atMs, this.#filledMs ?? atMs);
  }
}
