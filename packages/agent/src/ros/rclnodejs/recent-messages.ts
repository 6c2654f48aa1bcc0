/** As long as a publisher may be there before it is noticed, and some. */
const KEPT_MS = 700;
const KEPT_MAX = 1000;
const KEPT_BYTES_MAX = 4 * 1024 * 1024;

/** What a reader received lately, the newest, within KEPT_MS, KEPT_MAX and KEPT_BYTES_MAX. Keeping costs no more than a reference. */
export class RecentMessages {
  #kept: { cdr: Uint8Array; bytes: number; atMs: number }[] = [];
  #bytes = 0;

  /** @param nowMs on a clock that never jumps */
  add(cdr: Uint8Array, nowMs: number): void {
    const bytes = cdr.byteLength;
    this.#kept.push({ cdr, bytes, atMs: nowMs });
    this.#bytes += bytes;
    let gone = 0;
    while (gone < this.#kept.length) {
      const { bytes: oldestBytes, atMs } = this.#kept[gone] ?? { bytes, atMs: nowMs };
      const isTooMuch = this.#bytes > KEPT_BYTES_MAX || this.#kept.length - gone > KEPT_MAX;
      if (!isTooMuch && nowMs - atMs <= KEPT_MS) break;
      this.#bytes -= oldestBytes;
      gone += 1;
    }
    if (gone > 0) this.#kept.splice(0, gone);
  }

  /** Oldest first, without those whose memory was given back meanwhile; nothing is kept afterwards. */
  take(): Uint8Array[] {
    this.#bytes = 0;
    const kept = this.#kept.splice(0);
    return kept.filter(({ cdr, bytes }) => cdr.byteLength === bytes).map(({ cdr }) => cdr);
  }
}
