/**
 * What one step of retention does: a bounded number of the rows that arrived first go, in one transaction with their sources'
 * counters. On the raw handle, as ingest is: a step must not let go of the connection half-way.
 *
 * Points and vitals have no index on their time of receipt and need none: their ids are given out in the order of arrival, so
 * the oldest have the smallest. A clock of the cloud's that was once wrong shows as rows out of order: one that seems older than
 * what arrived before it waits for that, one from the future goes with what arrived after it.
 */
import type { Database } from 'better-sqlite3';
import { RETENTION_SQL } from './sql.js';

/** What a step may take at most, so that whoever waits for the connection waits for a few milliseconds. */
export const STEP_ROWS_MAX = 500;
const STEP_BYTES_MAX = 1024 * 1024;
/** Rows of which only the time of receipt is read, in one step. */
const LOOK_AHEAD_ROWS = 10_000;

/** Which rows a step may take. */
export interface Bound {
  /** Those received, or ended, at this moment of the cloud's clock or before; Infinity = however young. */
  readonly untilMs: number;
  /** The cloud's clock: what was received later than that was received by a wrong one. */
  readonly nowMs: number;
  /** At most STEP_ROWS_MAX. */
  readonly rowsMax: number;
}

export interface Step {
  /** How many went. */
  readonly rows: number;
  /** False: nothing is left that the bound lets go. */
  readonly more: boolean;
}

export type Aged = 'points' | 'vitals';

interface Head {
  readonly id: number;
  /** 0 of vitals. */
  readonly sourceKey: number;
  readonly receivedMs: number;
  readonly bytes: number;
}

interface CommandHead {
  readonly key: number;
  readonly createdMs: number;
  /** Null while it is open. */
  readonly finishedMs: number | null;
  readonly bytes: number;
}

/** How much the store holds, bytes. */
export interface StoreSize {
  /** Pages in use: what the bound on size is about. */
  readonly live: number;
  /** Those that wait to be used again included: the file never shrinks by itself. */
  readonly file: number;
}

export class RetentionSteps {
  readonly #raw: Database;
  readonly #sql;
  /** Rows from the future below this id arrived before one that is old enough. */
  readonly #passedUntil: Record<Aged, number> = { points: 0, vitals: 0 };
  /** Up to this id there is no believable row after those that came first. */
  readonly #lookedUntil: Record<Aged, number> = { points: 0, vitals: 0 };

  constructor(raw: Database) {
    this.#raw = raw;
    this.#sql = prepare(raw);
  }

  size(): StoreSize {
    const read = (name: string) => this.#raw.pragma(name, { simple: true }) as number;
    const pageBytes = read('page_size');
    const pages = read('page_count');
    return { live: (pages - read('freelist_count')) * pageBytes, file: pages * pageBytes };
  }

  /** When the first of those kept came, by the cloud's clock; undefined where there is none. */
  oldestMs(of: Aged): number | undefined {
    return this.#sql[of].heads.get(1)?.receivedMs;
  }

  /** Removes the points, or vitals, that came first. */
  removeOldest(of: Aged, bound: Bound): Step {
    return this.#transaction(() => {
      const heads = this.#sql[of].heads.all(bound.rowsMax);
      const going = heads.slice(0, this.#countGoing(of, heads, bound));
      const last = going.at(-1);
      if (!last) return { rows: 0, more: this.#lookAhead(of, heads, bound) };
      this.#sql[of].remove.run(last.id);
      if (of === 'points') this.#uncount(going);
      return { rows: going.length, more: true };
    });
  }

  /**
   * Removes commands that have ended, in the order of their POSTs. Open ones stay and are passed over: `lastKey` is what the
   * next step of the same run goes on after (the first: 0).
   */
  removeEndedCommands(afterKey: number, bound: Bound): Step & { readonly lastKey: number } {
    return this.#transaction(() => {
      let lastKey = afterKey;
      let rows = 0;
      let bytes = 0;
      for (const command of this.#sql.commandHeads.all(afterKey, bound.rowsMax)) {
        // One from the future (a clock that was wrong once) says nothing of those after it.
        const isYoung = command.createdMs > bound.untilMs;
        if (isYoung && command.createdMs <= bound.nowMs) return { rows, lastKey, more: false };
        lastKey = command.key;
        if (command.finishedMs === null || command.finishedMs > bound.untilMs) continue;
        this.#sql.removeCommand.run(command.key);
        rows += 1;
        bytes += command.bytes;
        if (bytes > STEP_BYTES_MAX) break;
      }
      return { rows, lastKey, more: lastKey > afterKey };
    });
  }

  /** How many of the rows that came first may go now. */
  #countGoing(of: Aged, heads: readonly Head[], bound: Bound): number {
    let count = 0;
    let bytes = 0;
    for (const [at, head] of heads.entries()) {
      bytes += head.bytes;
      if (at > 0 && bytes > STEP_BYTES_MAX) break;
      const isFromFuture = head.receivedMs > bound.nowMs;
      const mayGo = isFromFuture ? head.id < this.#passedUntil[of] : head.receivedMs <= bound.untilMs;
      if (mayGo || bound.untilMs > bound.nowMs) count = at + 1;
      // It goes where one that came after it may go.
      else if (!isFromFuture) break;
    }
    return count;
  }

  /**
   * Where all that came first is from the future: looks further on, some rows a step, for one that is old enough. Whether
   * another step may find more.
   */
  #lookAhead(of: Aged, heads: readonly Head[], bound: Bound): boolean {
    const last = heads.at(-1);
    if (!last || heads.some((head) => head.receivedMs <= bound.nowMs)) return false;
    const from = Math.max(last.id, this.#lookedUntil[of]);
    const found = this.#sql[of].next.get(from, from + LOOK_AHEAD_ROWS, bound.nowMs);
    if (!found) {
      const lastId = this.#sql[of].last.get() ?? 0;
      this.#lookedUntil[of] = Math.min(from + LOOK_AHEAD_ROWS, lastId);
      return this.#lookedUntil[of] < lastId;
    }
    if (found.receivedMs > bound.untilMs) return false;
    this.#passedUntil[of] = found.id;
    return true;
  }

  #uncount(gone: readonly Head[]): void {
    const counts = new Map<number, number>();
    for (const { sourceKey } of gone) counts.set(sourceKey, (counts.get(sourceKey) ?? 0) + 1);
    for (const [key, count] of counts) {
      if (this.#sql.uncount.get({ key, count }) !== 0) continue;
      // Nothing refers to it any more. A stream of that name shows 0 without it; what comes later makes it anew.
      this.#sql.removeChannels.run(key);
      this.#sql.removeSource.run(key);
    }
  }

  #transaction<T>(step: () => T): T {
    return this.#raw.transaction(step).immediate();
  }
}

function prepare(raw: Database) {
  const sql = RETENTION_SQL;
  const aged = (heads: string, next: string, last: string, remove: string) => ({
    heads: raw.prepare<[number], Head>(heads),
    next: raw.prepare<[number, number, number], { id: number; receivedMs: number }>(next),
    last: raw.prepare<[], number | null>(last).pluck(),
    remove: raw.prepare<[number]>(remove),
  });
  return {
    points: aged(sql.pointHeads, sql.nextPoint, sql.lastPoint, sql.removePoints),
    vitals: aged(sql.vitalHeads, sql.nextVital, sql.lastVital, sql.removeVitals),
    uncount: raw.prepare<[{ key: number; count: number }], number>(sql.uncount).pluck(),
    removeChannels: raw.prepare<[number]>(sql.removeChannels),
    removeSource: raw.prepare<[number]>(sql.removeSource),
    commandHeads: raw.prepare<[number, number], CommandHead>(sql.commandHeads),
    removeCommand: raw.prepare<[number]>(sql.removeCommand),
  };
}
