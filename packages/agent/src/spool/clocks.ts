import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import type { ClockOffset } from '@drover/shared/link/clock';
import type { Database } from 'better-sqlite3';

/** A clock that moved by less was not set but slewed, or was read a moment apart from the other. */
const STEP_MIN_MS = 500;
/** An offset that moved by less is not worth a write. */
const OFFSET_CHANGE_MIN_MS = 100;
/** Clocks kept; a robot whose clock is set ever and again keeps the newest. */
const CLOCKS_MAX = 1000;

/** How the robot's wall clock stands: where this differs between two moments of a boot, it was set between them. */
export interface ClockReading {
  readonly bootId: string;
  /** Wall clock minus the time since the boot, milliseconds. */
  readonly baseMs: number;
}

/** What tells boots apart, and the time since this one's, suspension included, milliseconds. */
export interface Boot {
  readonly id: string;
  readonly sinceMs: () => number;
}

/** The machine's boot; where the system does not name it, one of this process's own. */
export function systemBoot(): Boot {
  let id: string;
  try {
    id = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    id = randomUUID();
  }
  return { id, sinceMs: () => uptime() * 1000 };
}

interface ClockRow {
  readonly from_id: number;
  readonly boot_id: string;
  readonly base_ms: number;
  readonly offset_ms: number | null;
  readonly uncertainty_ms: number | null;
}

/**
 * By what clock the spool's rows were stamped: from which row on the robot's clock stood how, and its offset to the cloud's clock
 * where that was measured meanwhile. So a row that waited while the clock was set (NTP after a boot without a battery-backed clock) is
 * corrected by the offset of its own time. Works inside the store's transactions; after one that failed, reload() makes it true again.
 */
export class ClockLedger {
  readonly #sql;
  #rows: ClockRow[] = [];
  /** No row of the file is of an id that is still to come. */
  #isClean = false;

  constructor(db: Database) {
    this.#sql = prepare(db);
  }

  /** @param nextId rows from this id on do not exist: what the file says of them is of rows that are gone. */
  reload(nextId: number): void {
    this.#isClean = false;
    this.#rows = this.#sql.all.all().filter((row) => row.from_id < nextId);
  }

  /** The row of this id was stamped by a clock that stood so. */
  note(id: number, { bootId, baseMs }: ClockReading): void {
    if (!this.#isClean) this.#sql.forgetFrom.run(id);
    this.#isClean = true;
    const last = this.#rows.at(-1);
    if (last && last.boot_id === bootId && Math.abs(last.base_ms - baseMs) < STEP_MIN_MS) return;
    const row = { from_id: id, boot_id: bootId, base_ms: baseMs, offset_ms: null, uncertainty_ms: null };
    this.#sql.insert.run(row);
    this.#rows.push(row);
    // Nothing before the oldest row needs its clock any more; past the bound the oldest rows go by the one after theirs.
    const oldestId = this.#sql.oldestId.get() ?? id;
    while (this.#rows.length > 1 && (this.#rows.length > CLOCKS_MAX || (this.#rows[1]?.from_id ?? 0) <= oldestId)) {
      const gone = this.#rows.shift();
      if (gone) this.#sql.forget.run(gone.from_id);
    }
  }

  /** The clock that stands so now has this offset. */
  measured(now: ClockReading, offset: ClockOffset): void {
    const last = this.#rows.at(-1);
    if (!last || last.boot_id !== now.bootId || Math.abs(last.base_ms - now.baseMs) >= STEP_MIN_MS) return;
    if (Math.abs((last.offset_ms ?? Number.POSITIVE_INFINITY) - offset.offset_ms) < OFFSET_CHANGE_MIN_MS) return;
    const row = { ...last, ...offset };
    this.#sql.setOffset.run(row);
    this.#rows[this.#rows.length - 1] = row;
  }

  /** Rows from here up to this id (not included) have one clock. */
  endOf(id: number): number {
    return this.#rows.find((row) => row.from_id > id)?.from_id ?? Number.POSITIVE_INFINITY;
  }

  /**
   * The offset of the clock that a row was stamped by. Of this boot: today's, and by how much the clock was set since. Of another one: what
   * was measured then; where nothing was, today's has to do.
   */
  offsetOf(id: number, now: ClockReading, measured: ClockOffset): ClockOffset {
    const row = this.#rowOf(id);
    if (!row) return measured;
    if (row.boot_id === now.bootId)
      return { ...measured, offset_ms: measured.offset_ms + clockSetBy(row.base_ms, now.baseMs) };
    if (row.offset_ms === null || row.uncertainty_ms === null) return measured;
    return { offset_ms: row.offset_ms, uncertainty_ms: row.uncertainty_ms };
  }

  /** A row's stamp as today's clock would have given it, as far as that can be told. */
  stampNow(id: number, robotStampMs: number, now: ClockReading): number {
    const row = this.#rowOf(id);
    return row?.boot_id === now.bootId ? robotStampMs + clockSetBy(row.base_ms, now.baseMs) : robotStampMs;
  }

  #rowOf(id: number): ClockRow | undefined {
    return this.#rows.findLast((row) => row.from_id <= id);
  }
}

/** By how much the wall clock was set between two moments, by how it stood to a clock that is never set, milliseconds. */
export function clockSetBy(thenBaseMs: number, nowBaseMs: number): number {
  const setMs = nowBaseMs - thenBaseMs;
  return Math.abs(setMs) < STEP_MIN_MS ? 0 : setMs;
}

function prepare(db: Database) {
  return {
    all: db.prepare<[], ClockRow>(
      'SELECT from_id, boot_id, base_ms, offset_ms, uncertainty_ms FROM clocks ORDER BY from_id',
    ),
    insert: db.prepare<[ClockRow]>(
      `INSERT INTO clocks (from_id, boot_id, base_ms, offset_ms, uncertainty_ms)
       VALUES (@from_id, @boot_id, @base_ms, @offset_ms, @uncertainty_ms)`,
    ),
    setOffset: db.prepare<[ClockRow]>(
      'UPDATE clocks SET offset_ms = @offset_ms, uncertainty_ms = @uncertainty_ms WHERE from_id = @from_id',
    ),
    forget: db.prepare('DELETE FROM clocks WHERE from_id = ?'),
    forgetFrom: db.prepare('DELETE FROM clocks WHERE from_id >= ?'),
    oldestId: db.prepare<[], number>('SELECT id FROM rows ORDER BY id LIMIT 1').pluck(),
  };
}
