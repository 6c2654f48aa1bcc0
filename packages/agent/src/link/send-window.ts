/** Least that may be under way: data frames go one at a time then. */
export const WINDOW_BYTES_MIN = 4 * 1024;
export const WINDOW_BYTES_MAX = 8 * 1024 * 1024;
/** The window holds what the measured rate carries in this time, or in twice the round trip where that is longer. */
const WINDOW_MS = 500;
/** A rate counts for this long: a link that slows down is noticed after it. */
const RATE_MEMORY_MS = 3_000;
/** A mark that took this long, and twice the shortest trip, has waited behind other bytes. */
const QUEUED_TRIP_MS = 100;
/** A mark is set after so many bytes, or a quarter of the window. */
const MARK_BYTES = 16 * 1024;
/**
 * Marks under way at once: takes and outcomes are written through a closed window, hundreds in one turn, and were each to have its
 * mark the cloud would take that for a flood of pings (ws gives up a connection that has 60 unanswered).
 */
export const MARKS_MAX = 16;

interface Mark {
  readonly id: number;
  readonly sentMs: number;
  readonly sentBytes: number;
  readonly arrivedBytes: number;
}

/**
 * How much data may be under way to the cloud. The socket's own count is of no use: the kernel takes megabytes at once,
 * and on a slow link a command's answer would wait minutes behind them. So marks (websocket pings) are put between the
 * frames; their pongs tell what has arrived, and how fast. Pure: the session sends the pings and brings the pongs.
 */
export class SendWindow {
  #sentBytes = 0;
  #arrivedBytes = 0;
  #markedBytes = 0;
  #lastMark = 0;
  #marks: Mark[] = [];
  #rates: { atMs: number; bytes: number; bytesPerMs: number }[] = [];
  #shortestTripMs = Number.POSITIVE_INFINITY;
  /** Asked for several times a frame; changes with an answer only. */
  #bytes = WINDOW_BYTES_MIN;

  /** Whether one more data frame may be written. */
  get isOpen(): boolean {
    return this.#sentBytes - this.#arrivedBytes < this.bytes;
  }

  /**
   * How long a frame may be: on a slow link a whole one of 16 KiB would hold up an outcome for longer than the window
   * means to (two seconds at 64 kbit/s).
   */
  get frameBytes(): number {
    return this.bytes * 0.75;
  }

  /** The window now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The mark to send before any data: alone on the link, it measures the way itself. */
  probe(nowMs: number): number {
    return this.#mark(nowMs);
  }

  /** A frame was written. */
  sent(bytes: number): void {
    this.#sentBytes += bytes;
  }

  /** The mark to send now, or null. To be asked after each frame and each answer: a closed window always has one under way. */
  markDue(nowMs: number): number | null {
    const unmarked = this.#sentBytes - this.#markedBytes;
    if (unmarked === 0 || this.#marks.length >= MARKS_MAX) return null;
    // The answers to those that are under way open a closed window, or more than a quarter is left for another.
    const isEnough = this.isOpen ? unmarked >= Math.max(MARK_BYTES, this.bytes / 4) : unmarked >= this.bytes / 4;
    const isNeeded = !this.isOpen && this.#marks.length === 0;
    return isEnough || isNeeded ? this.#mark(nowMs) : null;
  }

  /** A mark came back: everything written before it has arrived. */
  arrived(id: number, nowMs: number): void {
    const mark = this.#marks.find((candidate) => candidate.id === id);
    if (!mark) return;
    this.#marks = this.#marks.filter((other) => other.id > id);
    this.#arrivedBytes = Math.max(this.#arrivedBytes, mark.sentBytes);
    const tripMs = Math.max(0.1, nowMs - mark.sentMs);
    this.#shortestTripMs = Math.min(this.#shortestTripMs, tripMs);
    const bytes = mark.sentBytes - mark.arrivedBytes;
    if (bytes > 0) this.#passed(bytes, tripMs, nowMs);
    this.#bytes = this.#believed();
  }

  #passed(bytes: number, tripMs: number, nowMs: number): void {
    // Having waited in a queue, it tells the link's rate as it is now; what was measured before may have been a burst.
    const hasQueued = tripMs > QUEUED_TRIP_MS && tripMs > 2 * this.#shortestTripMs;
    this.#rates = this.#rates.filter((sample) => !hasQueued && nowMs - sample.atMs < RATE_MEMORY_MS);
    this.#rates.push({ atMs: nowMs, bytes, bytesPerMs: bytes / tripMs });
  }

  #believed(): number {
    const rate = Math.max(0, ...this.#rates.map((sample) => sample.bytesPerMs));
    const trip = Number.isFinite(this.#shortestTripMs) ? this.#shortestTripMs : 0;
    // What passed at once may have been a burst that the link allows after a rest: a rate is believed for twice the bytes that
    // showed it. So the window at most doubles with each answer.
    const shown = 2 * Math.max(0, ...this.#rates.map((sample) => sample.bytes));
    const wanted = Math.min(shown, rate * Math.max(WINDOW_MS, 2 * trip));
    return Math.min(WINDOW_BYTES_MAX, Math.max(WINDOW_BYTES_MIN, wanted));
  }

  #mark(sentMs: number): number {
    this.#lastMark += 1;
    this.#markedBytes = this.#sentBytes;
    const id = this.#lastMark;
    this.#marks.push({ id, sentMs, sentBytes: this.#sentBytes, arrivedBytes: this.#arrivedBytes });
    return id;
  }
}
