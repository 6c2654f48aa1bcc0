/** A rate is told over this long, once so much is known. */
const WINDOW_MS = 10_000;
/** Shorter than this tells nothing. */
const WINDOW_MIN_MS = 1_000;

/** Messages a second over the last WINDOW_MS, of a counter that is read from time to time. Holds some 10 readings. */
export class RateMeter {
  #readings: { atMs: number; count: number }[] = [];

  /** @param count so many so far; a smaller one than before begins anew. @returns the rate, null while not known */
  read(count: number, nowMs: number): number | null {
    const last = this.#readings.at(-1);
    if (last && count < last.count) this.#readings = [];
    if (!last || count < last.count || nowMs - last.atMs >= WINDOW_MIN_MS) this.#readings.push({ atMs: nowMs, count });
    while ((this.#readings[1]?.atMs ?? nowMs) <= nowMs - WINDOW_MS) this.#readings.shift();
    const [oldest] = this.#readings;
    if (!oldest || nowMs - oldest.atMs < WINDOW_MIN_MS) return null;
    return Math.round(((count - oldest.count) / (nowMs - oldest.atMs)) * 10_000) / 10;
  }

  reset(): void {
    this.#readings = [];
  }
}
