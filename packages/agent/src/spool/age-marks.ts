/** So many marks cover whatever time the process has run, each gap as long as is then needed. */
const MARKS_MAX = 1_000;
const FIRST_GAP_MS = 250;

/**
 * Where the spool's ids stood at what time of a clock that never jumps: what tells how old a row at least is, however the
 * robot's own clock is set meanwhile. Errs to the younger side, by a 500th of the time the process has run.
 */
export class AgeMarks {
  #marks: { atMs: number; nextId: number }[] = [];
  #gapMs = FIRST_GAP_MS;

  /** At `nowMs` the next row will get `nextId`: all below are there. */
  mark(nextId: number, nowMs: number): void {
    // A spool begun anew counts from 1 again.
    if ((this.#marks.at(-1)?.nextId ?? 0) > nextId) this.#marks = [];
    // Of three within a gap the one in the middle tells nothing.
    const before = this.#marks.at(-2);
    if (before && nowMs - before.atMs < this.#gapMs) this.#marks.pop();
    this.#marks.push({ atMs: nowMs, nextId });
    if (this.#marks.length <= MARKS_MAX) return;
    this.#marks = this.#marks.filter((_, index) => index % 2 === 0);
    this.#gapMs *= 2;
  }

  /** Rows below this id came at least `ageMs` ago. */
  idBefore(ageMs: number, nowMs: number): number {
    let id = 0;
    for (const mark of this.#marks) {
      if (nowMs - mark.atMs < ageMs) break;
      id = mark.nextId;
    }
    return id;
  }
}
