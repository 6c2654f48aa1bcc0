import type { SourceLedger } from './ledger.js';
import { type BatchRecord, type DropCount, DropReason, storedBytes } from './rows.js';
import type { SpoolSql } from './store-sql.js';

/** At most this many rows are dropped for a bound in one transaction: one lowered by far is reached in steps. */
const DROP_ROWS_MAX = 20_000;

/** Rows of a source that have waited too long. */
export interface AgeBound {
  readonly source: string;
  /** Rows below this id have. */
  readonly beforeId: number;
  /** Of rows that were there when the file was opened: those stamped before this by the robot's clock. */
  readonly beforeStampMs: number;
}

type Unacked = readonly BatchRecord[];

/**
 * Lets go of rows, and counts each by source and reason in the same transaction: the store's, in which it works. Never one
 * that a batch holds: it has a sequence. After a transaction that failed, reset() makes it true again.
 */
export class RowDropper {
  readonly #sql: SpoolSql;
  readonly #ledger: SourceLedger;
  /** By source: no row that could be too old has a smaller id, so that each is looked at about once. */
  readonly #ageHints = new Map<string, number>();
  /** Of all sources together, the same. */
  #ageHint = 0;

  constructor(sql: SpoolSql, ledger: SourceLedger) {
    this.#sql = sql;
    this.#ledger = ledger;
  }

  reset(): void {
    this.#ageHints.clear();
    this.#ageHint = 0;
  }

  count(drop: DropCount): void {
    this.#sql.countDrop.run(drop.source, drop.reason, drop.rows, drop.bytes);
  }

  /**
   * Drops what has waited longer than its source lets it.
   * @param openedBeforeId rows below were there when the file was opened
   * @returns below which id more of it may be left for next time; 0: none is
   */
  dropTooOld({ source, beforeId, beforeStampMs }: AgeBound, openedBeforeId: number, unacked: Unacked): number {
    const sourceId = this.#ledger.idOf(source);
    const end = Math.max(beforeId, openedBeforeId);
    const from = this.#ageHints.get(source) ?? 0;
    if (sourceId === undefined || from >= end) return 0;
    const victims: { id: number; channel: number; bytes: number }[] = [];
    let hint = end;
    for (const row of this.#sql.agedRows.iterate(from, end, sourceId)) {
      if (victims.length === DROP_ROWS_MAX || (row.id >= beforeId && row.robot_stamp_ms >= beforeStampMs)) {
        hint = row.id;
        break;
      }
      if (isPlaced(row.id, unacked)) continue;
      victims.push({ id: row.id, channel: row.channel, bytes: storedBytes(row.bytes) });
    }
    this.#ageHints.set(source, hint);
    if (victims.length === 0) return 0;
    let bytes = 0;
    for (const victim of victims) {
      this.#sql.deleteRange.run(victim.id, victim.id);
      this.#ledger.add(victim.channel, -1, -victim.bytes);
      bytes += victim.bytes;
    }
    this.count({ source, reason: DropReason.tooOld, rows: victims.length, bytes });
    return victims.length === DROP_ROWS_MAX && hint < end ? end : 0;
  }

  /** Drops what is left below an id, whatever its source, as too old. @returns whether more of it is left for next time. */
  dropOlder(endId: number, unacked: Unacked): boolean {
    if (endId <= this.#ageHint) return false;
    const end = Math.min(endId, this.#sql.idAfter.get(this.#ageHint, DROP_ROWS_MAX) ?? endId);
    this.dropUnplaced(this.#ageHint, end, DropReason.tooOld, unacked);
    this.#ageHint = end;
    return end < endId;
  }

  /** Drops the rows of [fromId, endId) that no batch holds. */
  dropUnplaced(fromId: number, endId: number, reason: DropReason, unacked: Unacked): void {
    let from = fromId;
    const placed = [...unacked].sort((one, other) => one.firstId - other.firstId);
    for (const { firstId, lastId } of [...placed, { firstId: endId, lastId: endId }]) {
      const last = Math.min(firstId, endId) - 1;
      if (last >= from) this.#dropRange(from, last, reason);
      from = Math.max(from, lastId + 1);
    }
  }

  /** Drops the oldest rows of whichever source holds most, until `overBytes` says that it is enough. */
  dropOver(overBytes: () => number, unacked: Unacked): void {
    let rowsLeft = DROP_ROWS_MAX;
    const exhausted = new Set<number>();
    for (let over = overBytes(); over > 0 && rowsLeft > 0; over = overBytes()) {
      const biggest = this.#ledger.biggest(exhausted);
      if (biggest === null) return;
      const dropped = this.#dropOldest(biggest.id, over, rowsLeft, unacked);
      if (dropped.rows === 0) exhausted.add(biggest.id);
      else this.count({ source: biggest.name, reason: DropReason.spoolFull, ...dropped });
      rowsLeft -= dropped.rows;
    }
  }

  #dropRange(firstId: number, lastId: number, reason: DropReason): void {
    for (const part of this.#sql.heldIn.all(firstId, lastId)) {
      const bytes = part.bytes + storedBytes(0) * part.rows;
      this.count({ source: this.#ledger.sourceOf(part.channel), reason, rows: part.rows, bytes });
      this.#ledger.add(part.channel, -part.rows, -bytes);
    }
    this.#sql.deleteRange.run(firstId, lastId);
  }

  #dropOldest(
    sourceId: number,
    bytesWanted: number,
    rowsMax: number,
    unacked: Unacked,
  ): { rows: number; bytes: number } {
    const victims: { id: number; channel: number; bytes: number }[] = [];
    let bytes = 0;
    let from = this.#ledger.oldestHint(sourceId);
    for (const row of this.#sql.rowsOfSource.iterate(from, sourceId)) {
      if (bytes >= bytesWanted || victims.length >= rowsMax) break;
      from = row.id;
      if (isPlaced(row.id, unacked)) continue;
      victims.push({ id: row.id, channel: row.channel, bytes: storedBytes(row.bytes) });
      bytes += storedBytes(row.bytes);
    }
    for (const victim of victims) {
      this.#sql.deleteRange.run(victim.id, victim.id);
      this.#ledger.add(victim.channel, -1, -victim.bytes);
    }
    this.#ledger.setOldestHint(sourceId, from);
    return { rows: victims.length, bytes };
  }
}

function isPlaced(id: number, unacked: Unacked): boolean {
  return unacked.some((batch) => batch.firstId <= id && id <= batch.lastId);
}
