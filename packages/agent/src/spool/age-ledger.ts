import type { Database } from 'better-sqlite3';

/** Time is written down so often at most, with a commit that is made anyway: so much is forgotten at a crash. */
const HEAD_INTERVAL_MS = 60_000;
/** A session that ended is waited for so long before age counts again: a backlog on a link that flaps shall get through. */
export const SESSION_GRACE_MS = 3_600_000;
/** Marks within the longest age that is asked for: what is dropped comes in steps of a 500th of it. */
const MARKS_WITHIN = 500;
/** Past this every second one goes, which lets rows seem younger. */
const MARKS_MAX = 2 * MARKS_WITHIN;

/** A moment of a boot, its time without jumps and with suspension counted, milliseconds. */
export interface BootTime {
  readonly bootId: string;
  readonly sinceMs: number;
}

/** What the ledger is told with a commit. */
export interface AgeMoment {
  readonly now: BootTime;
  /** The cloud's clock; null where no session measures it. */
  readonly cloudMs: number | null;
  /** Of which age rows will be asked for, milliseconds. */
  readonly maxMs: number;
  readonly hasSession: boolean;
}

/** All rows below this id were there when so much time was known to have passed. */
interface Mark {
  readonly next_id: number;
  readonly elapsed_ms: number;
}

/** The last moment that was written down. */
interface Head {
  readonly boot_id: string;
  readonly since_ms: number;
  readonly elapsed_ms: number;
  /** The last moment at which the cloud's clock was known, and in which boot; all null = never. */
  readonly cloud_boot_id: string | null;
  readonly cloud_elapsed_ms: number | null;
  readonly cloud_ms: number | null;
  /** When a session last stood, HEAD_INTERVAL_MS at most before its end; null = never known to. */
  readonly session_elapsed_ms: number | null;
}

/**
 * How long the spool's rows have waited, over restarts and boots, whatever the robot's wall clock says. It counts the time
 * that is known to have passed since the file was begun, and marks which rows were there when. Within a boot that is
 * the time since the boot. What passed from one boot to the next is not known, and counts as nothing, until the cloud's clock is
 * known in both: then it is put between them. So a row is at least as old as it seems, but for the robot whose cloud's clock is wrong.
 *
 * Works inside the store's transactions; after one that failed, reload() makes it true again.
 */
export class AgeLedger {
  readonly #sql;
  #marks: Mark[] = [];
  #head: Head | null = null;
  /** When this process looked first: of a boot that was not known before, only what comes after counts. */
  #first: BootTime | null = null;
  /** What the commit before this one would have been marked with: what it brought may be old by now. */
  #before: Mark | null = null;
  /** No mark counts a row that is still to come. */
  #isClean = false;
  /** When a session of an earlier process ended, at the latest; null where none is known. */
  readonly #formerSessionMs: number | null;

  constructor(db: Database) {
    this.#sql = prepare(db);
    this.reload();
    const { session_elapsed_ms: sessionMs = null } = this.#head ?? {};
    this.#formerSessionMs = sessionMs === null ? null : sessionMs + HEAD_INTERVAL_MS;
  }

  reload(): void {
    this.#isClean = false;
    this.#before = null;
    this.#marks = this.#sql.marks.all();
    this.#head = this.#sql.head.get() ?? null;
  }

  /** To be called before rows are inserted, with the id of the first: a spool that was emptied gives ids out again. */
  comes(id: number): void {
    if (this.#isClean) return;
    this.#isClean = true;
    // Of those that counted further, the first tells most about the rows below.
    const over = this.#marks.find((mark) => mark.next_id > id);
    if (!over) return;
    this.#sql.forgetAbove.run(id);
    this.#marks = this.#marks.filter((mark) => mark.next_id <= id);
    this.#mark(id, over.elapsed_ms);
  }

  /**
   * Time went on.
   * @param rows all from `oldestId` to below `nextId` are there; below `openedBeforeId`, since the process began.
   */
  note(rows: { oldestId: number; nextId: number; openedBeforeId: number }, moment: AgeMoment): void {
    const { now, cloudMs, hasSession } = moment;
    const head = this.#head;
    const passedMs = this.#elapsed(now);
    const isNewBoot = head?.boot_id !== now.bootId;
    const isCloudNew = cloudMs !== null && head?.cloud_boot_id !== now.bootId;
    const sessionMs = head?.session_elapsed_ms ?? Number.NEGATIVE_INFINITY;
    const isSessionNew = hasSession && passedMs - sessionMs >= HEAD_INTERVAL_MS;
    if (isNewBoot || isCloudNew || isSessionNew || passedMs - head.elapsed_ms >= HEAD_INTERVAL_MS) {
      // What was there at the start belongs to the end of what was before.
      if (head && (isNewBoot || !this.#before)) this.#mark(rows.openedBeforeId, head.elapsed_ms);
      const unseenMs = head && isCloudNew ? this.#putBetween(head, passedMs, cloudMs) : 0;
      this.#write(passedMs + unseenMs, moment);
      this.#forget((mark) => mark.next_id <= rows.oldestId);
      const mark = this.#before ?? { next_id: rows.nextId, elapsed_ms: passedMs };
      const last = this.#marks.at(-1);
      if (!last || passedMs + unseenMs - last.elapsed_ms >= markGap(moment.maxMs)) {
        this.#mark(mark.next_id, mark.elapsed_ms + unseenMs);
      }
      if (this.#marks.length > MARKS_MAX) this.#forget((_, index) => index % 2 === 1);
    }
    this.#before = { next_id: rows.nextId, elapsed_ms: this.#elapsed(now) };
  }

  /** Rows below this id have waited for at least `ageMs`. */
  idBefore(ageMs: number, now: BootTime): number {
    // Rows that came after the last moment written before a crash are marked by that moment.
    const latestMs = this.#elapsed(now) - ageMs - HEAD_INTERVAL_MS;
    return this.#marks.findLast((mark) => mark.elapsed_ms <= latestMs)?.next_id ?? 0;
  }

  /** Whether a session of an earlier process may have ended within SESSION_GRACE_MS: the agent was killed amid a backlog, say. */
  hadSession(now: BootTime): boolean {
    return this.#formerSessionMs !== null && this.#elapsed(now) - this.#formerSessionMs < SESSION_GRACE_MS;
  }

  #elapsed(now: BootTime): number {
    this.#first ??= now;
    if (!this.#head) return 0;
    const { boot_id, since_ms, elapsed_ms } = this.#head;
    if (boot_id === now.bootId) return elapsed_ms + Math.max(0, now.sinceMs - since_ms);
    // At least a millisecond: so that a boot's moments are above all of those before it.
    return elapsed_ms + 1 + Math.max(0, now.sinceMs - this.#first.sinceMs);
  }

  #write(elapsedMs: number, { now, cloudMs, hasSession }: AgeMoment): void {
    const cloud = knownCloud(this.#head, now.bootId, elapsedMs, cloudMs);
    const session = { session_elapsed_ms: hasSession ? elapsedMs : (this.#head?.session_elapsed_ms ?? null) };
    this.#head = { boot_id: now.bootId, since_ms: now.sinceMs, elapsed_ms: elapsedMs, ...cloud, ...session };
    this.#sql.setHead.run(this.#head);
  }

  /** Moves all marks since the cloud's clock was last known by what must have passed unseen. @returns by how much. */
  #putBetween({ cloud_elapsed_ms, cloud_ms }: Head, elapsedMs: number, cloudMs: number): number {
    if (cloud_elapsed_ms === null || cloud_ms === null) return 0;
    const unseenMs = cloudMs - cloud_ms - (elapsedMs - cloud_elapsed_ms);
    if (unseenMs <= 0) return 0;
    this.#sql.shift.run(unseenMs, cloud_elapsed_ms);
    this.#marks = this.#marks.map((mark) =>
      mark.elapsed_ms > cloud_elapsed_ms ? { ...mark, elapsed_ms: mark.elapsed_ms + unseenMs } : mark,
    );
    return unseenMs;
  }

  #mark(nextId: number, elapsedMs: number): void {
    if (nextId <= (this.#marks.at(-1)?.next_id ?? 0)) return;
    const mark = { next_id: nextId, elapsed_ms: elapsedMs };
    this.#sql.insert.run(mark);
    this.#marks.push(mark);
  }

  #forget(isGone: (mark: Mark, index: number) => boolean): void {
    const kept: Mark[] = [];
    for (const [index, mark] of this.#marks.entries()) {
      if (isGone(mark, index)) this.#sql.forget.run(mark.next_id);
      else kept.push(mark);
    }
    this.#marks = kept;
  }
}

function markGap(maxMs: number): number {
  return Math.max(HEAD_INTERVAL_MS, maxMs / MARKS_WITHIN);
}

/** The last moment of the cloud's clock that is known: this one, too, where it was known earlier in this boot. */
function knownCloud(head: Head | null, bootId: string, elapsedMs: number, measuredMs: number | null) {
  const { cloud_boot_id = null, cloud_elapsed_ms = null, cloud_ms = null } = head ?? {};
  const isOfThisBoot = cloud_boot_id === bootId && cloud_elapsed_ms !== null && cloud_ms !== null;
  const ms = measuredMs ?? (isOfThisBoot ? cloud_ms + elapsedMs - cloud_elapsed_ms : null);
  return ms === null
    ? { cloud_boot_id, cloud_elapsed_ms, cloud_ms }
    : { cloud_boot_id: bootId, cloud_elapsed_ms: elapsedMs, cloud_ms: ms };
}

function prepare(db: Database) {
  return {
    marks: db.prepare<[], Mark>('SELECT next_id, elapsed_ms FROM age_marks ORDER BY next_id'),
    insert: db.prepare<[Mark]>('INSERT INTO age_marks (next_id, elapsed_ms) VALUES (@next_id, @elapsed_ms)'),
    forget: db.prepare('DELETE FROM age_marks WHERE next_id = ?'),
    forgetAbove: db.prepare('DELETE FROM age_marks WHERE next_id > ?'),
    shift: db.prepare('UPDATE age_marks SET elapsed_ms = elapsed_ms + ? WHERE elapsed_ms > ?'),
    head: db.prepare<[], Head>(
      `SELECT boot_id, since_ms, elapsed_ms, cloud_boot_id, cloud_elapsed_ms, cloud_ms, session_elapsed_ms
       FROM age_head`,
    ),
    setHead: db.prepare<[Head]>(
      `INSERT OR REPLACE INTO age_head
         (one, boot_id, since_ms, elapsed_ms, cloud_boot_id, cloud_elapsed_ms, cloud_ms, session_elapsed_ms)
       VALUES
         (1, @boot_id, @since_ms, @elapsed_ms, @cloud_boot_id, @cloud_elapsed_ms, @cloud_ms, @session_elapsed_ms)`,
    ),
  };
}
