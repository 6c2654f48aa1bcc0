/** As long as a publisher may be there before it is noticed, and some. */
const KEPT_MS = 700;
const KEPT_MAX = 1000;
const KEPT_BYTES_MAX = 4 * 1024 * 1024;

/** What a reader received lately, the newest, within KEPT_MS, KEPT_MAX and KEPT_BYTES_MAX. Keeping costs no more than a reference. */
export class RecentMessages {
  #kept: { cdr: Uint8Array; atMs: number }[] = [];
  #bytes = 0;

  /** @param nowMs on a clock that never jumps */
  add(cdr: Uint8Array, nowMs: number): void {
    this.#kept.push({ cdr, atMs: nowMs });
    this.#bytes += cdr.byteLength;
    let gone = 0;
    while (gone < this.#kept.length) {
      const { cdr: oldest, atMs } = this.#kept[gone] ?? { cdr, atMs: nowMs };
      const isTooMuch = this.#bytes > KEPT_BYTES_MAX || this.#kept.length - gone > KEPT_MAX;
      if (!isTooMuch && nowMs - atMs <= KEPT_MS) break;
      this.#bytes -= oldest.byteLength;
      gone += 1;
    }
    if (gone > 0) this.#kept.splice(0, gone);
  }

  /** Oldest first; nothing is kept afterwards. */
  take(): Uint8Array[] {
    this.#bytes = 0;
    return this.#kept.splice(0).map(({ cdr }) => cdr);
  }
}
