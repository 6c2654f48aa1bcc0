/** Rows that came within so little of each other count as one. */
const GAP_MIN_MS = 250;
/** Further back, what came within such a part of its age does. */
const GAP_PART = 100;
const THIN_FROM = 500;

interface Mark {
  readonly atMs: number;
  readonly nextId: number;
}

/**
 * Where the spool's ids stood at what time of a clock that never jumps: what tells how old a row of this process at least is,
 * however the robot's own clock is set meanwhile. Errs to the younger side, by a hundredth of the age, or GAP_MIN_MS.
 * (age-ledger.ts keeps it over restarts, for ages of days.)
 */
export class AgeMarks {
  #marks: Mark[] = [];
  #thinFrom = THIN_FROM;

  /** At `nowMs` the next row will get `nextId`: all below are there. */
  mark(nextId: number, nowMs: number): void {
    // A spool begun anew counts from 1 again.
    if ((this.#marks.at(-1)?.nextId ?? 0) > nextId) this.#marks = [];
    // Of three within a gap the one in the middle tells nothing.
    const before = this.#marks.at(-2);
    if (before && nowMs - before.atMs < GAP_MIN_MS) this.#marks.pop();
    this.#marks.push({ atMs: nowMs, nextId });
    if (this.#marks.length < this.#thinFrom) return;
    this.#thin(nowMs);
    // So that each mark is looked at a few times in its life, and not with each new one.
    this.#thinFrom = Math.max(THIN_FROM, 2 * this.#marks.length);
  }

  /** Rows below this id came at least `ageMs` ago. */
  idBefore(ageMs: number, nowMs: number): number {
    return this.#marks.findLast((mark) => nowMs - mark.atMs >= ageMs)?.nextId ?? 0;
  }

  #thin(nowMs: number): void {
    const kept: Mark[] = [];
    for (const [index, mark] of this.#marks.entries()) {
      const before = kept.at(-1);
      const after = this.#marks[index + 1];
      const isWithinGap = before && after && after.atMs - before.atMs <= (nowMs - after.atMs) / GAP_PART;
      if (!isWithinGap) kept.push(mark);
    }
    this.#marks = kept;
  }
}
