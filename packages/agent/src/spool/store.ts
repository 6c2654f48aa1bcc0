import { BATCH_ROWS_MAX, type ChannelRow, type DataRow, type SchemaRow } from '@drover/shared/link/batch';
import type { ClockOffset } from '@drover/shared/link/clock';
import type { Lane } from '@drover/shared/link/fields';
import type { Database } from 'better-sqlite3';
import type { Owned } from '../disk/robot-identity.js';
import type { StoreFile } from '../disk/store-file.js';
import { AgeLedger, type AgeMoment } from './age-ledger.js';
import { ClockLedger, type ClockReading } from './clocks.js';
import { CopiedRows } from './copied-rows.js';
import { SourceLedger } from './ledger.js';
import { type AgeBound, RowDropper } from './row-dropper.js';
import { type BatchRecord, type DropCount, DropReason, type Sample, storedBytes } from './rows.js';
import { prepareSpool, type StoredRow } from './store-sql.js';
import { vitalBody, vitalRow } from './vital-body.js';

/** A batch holds about this many bytes of rows; one bigger message travels alone. */
export const BATCH_BYTES_MAX = 256 * 1024;

/** What the file may take beside its rows before it counts: its tables, and pages begun. */
const FILE_BYTES_FREE = 256 * 1024;

/** What one transaction does, in this order. */
export interface SpoolWork {
  /** Highest acknowledged sequence per lane. */
  readonly acked: Partial<Record<Lane, number>>;
  readonly samples: readonly Sample[];
  readonly drops: readonly DropCount[];
  readonly tooOld?: readonly AgeBound[];
  /** Rows below this id go in the backfill lane, the others live. */
  readonly liveFromId: number;
  /** Whether a lane may have one more batch, given those it has unacknowledged. */
  readonly mayForm: (lane: Lane, unacked: readonly BatchRecord[]) => boolean;
  readonly bytesMax: number;
  /** What time it is for the rows' age; what has waited for more than `maxMs` is dropped where `mayDrop`. */
  readonly age?: AgeMoment & { readonly mayDrop: boolean };
  /** How the robot's clock stands now, and its offset where a session measures it. */
  readonly clock?: ClockReading & { readonly measured: ClockOffset | null };
}

/**
 * The spool's file. Every method is one synchronous transaction on plain data, so that a worker thread could own it.
 * Promises: what commit() returned from is on disk; lane and sequence of a row never change once committed; a failed
 * commit (it throws SQLite's error) has changed nothing and may be tried again.
 */
export class SpoolStore {
  readonly #file: StoreFile;
  readonly #db: Database;
  readonly #ledger: SourceLedger;
  readonly #copied: CopiedRows;
  readonly #dropper: RowDropper;
  readonly clocks: ClockLedger;
  readonly #ages: AgeLedger;
  #id: string;
  #nextId: number;
  /** Ids below were on disk when the file was opened. */
  readonly openedBeforeId: number;
  #isOldLeft = false;
  #unacked: BatchRecord[] = [];
  /** What the last commit brought, from this id on: mostly sent at once, and so not read again. */
  #brought: { readonly firstId: number; readonly rows: readonly StoredRow[] } = { firstId: 0, rows: [] };
  #lastSeq: Record<Lane, number> = { live: 0, backfill: 0 };
  readonly #sql;

  constructor(file: StoreFile) {
    this.#file = file;
    this.#db = file.db;
    this.#id = file.id;
    this.#sql = prepareSpool(file.db);
    this.#ledger = new SourceLedger(file.db);
    this.clocks = new ClockLedger(file.db);
    this.#ages = new AgeLedger(file.db);
    this.#dropper = new RowDropper(this.#sql, this.#ledger);
    this.#nextId = 1;
    this.#reload();
    this.#nextId = Math.max(this.#sql.maxId.get() ?? 0, ...this.#unacked.map((batch) => batch.lastId)) + 1;
    this.openedBeforeId = this.#nextId;
    this.clocks.reload(this.#nextId);
    if (this.#nextId === 1) this.#ledger.forgetUnused();
    this.#copied = new CopiedRows(file, this.openedBeforeId);
  }

  get id(): string {
    return this.#id;
  }

  get isOpen(): boolean {
    return this.#db.open;
  }

  /** The id that the next sample will get; smaller ones are older. */
  get nextId(): number {
    return this.#nextId;
  }

  /** The highest sequence given out per lane. */
  get lastSeq(): Readonly<Record<Lane, number>> {
    return this.#lastSeq;
  }

  /** Batches not yet acknowledged, in order within each lane. */
  get unacked(): readonly BatchRecord[] {
    return this.#unacked;
  }

  /** Rows and bytes held, all sources together. */
  held(): { rows: number; bytes: number } {
    return this.#ledger.total();
  }

  /**
   * What the bound holds: the bytes of the rows, or of the file's pages in use where those are more. Rows of 2 to 4 kB take a
   * page of 4 kB each, and what stays between rows that went leaves pages half empty.
   */
  bytesInUse(): number {
    return Math.max(this.#ledger.total().bytes, (this.#sql.pagesInUse.get() ?? 0) - FILE_BYTES_FREE);
  }

  /** When the oldest row came, by the robot's clock as it stands now; null where there is none. */
  oldestStampMs(now: ClockReading): number | null {
    const oldest = this.#sql.oldest.get();
    return oldest ? this.clocks.stampNow(oldest.id, oldest.robot_stamp_ms, now) : null;
  }

  /** What the file can take without growing: pages that rows were removed from. */
  reusableBytes(): number {
    return (this.#sql.freePages.get() ?? 0) * (this.#sql.pageBytes.get() ?? 0);
  }

  /** Whether rows wait that have not been given a place in a lane yet. */
  hasBacklog(): boolean {
    const placed = this.#unacked.reduce((sum, batch) => sum + batch.rowCount, 0);
    return this.#ledger.total().rows > placed;
  }

  /** Whether the last commit left rows that have waited too long for the next one. */
  get isOldLeft(): boolean {
    return this.#isOldLeft;
  }

  /** Whose the file is. */
  get owned(): Owned {
    return this.#file;
  }

  /** Everything ever dropped, by source and reason. */
  drops(): DropCount[] {
    return this.#sql.drops.all();
  }

  /** Does the work in one durable transaction and returns the batches formed by it. */
  commit(work: SpoolWork): BatchRecord[] {
    const firstId = this.#nextId;
    const brought: StoredRow[] = [];
    this.forget();
    try {
      const formed = this.#db.transaction(() => {
        for (const lane of ['live', 'backfill'] as const) this.#acknowledge(lane, work.acked[lane] ?? 0);
        if (work.samples.length > 0) this.#ages.comes(this.#nextId);
        for (const sample of work.samples) brought.push(this.#insert(sample, work.clock));
        if (work.clock?.measured) this.clocks.measured(work.clock, work.clock.measured);
        for (const drop of work.drops) this.#dropper.count(drop);
        const oldBelowId = this.#dropTooOld(work.tooOld ?? []);
        const isOldLeft = work.age !== undefined && this.#boundAge(work.age);
        this.#dropper.dropOver(() => this.bytesInUse() - work.bytesMax, this.#unacked);
        // A lane in which a stream's too old rows are left waits: they are not to be sent, and those of others keep their order.
        const formed = [
          ...(oldBelowId > work.liveFromId ? [] : this.#form('live', work.liveFromId, this.#nextId, work)),
          ...(oldBelowId > 0 ? [] : this.#form('backfill', 1, work.liveFromId, work)),
        ];
        this.#ledger.save();
        this.#isOldLeft = isOldLeft || oldBelowId > 0;
        return formed;
      })();
      this.#brought = { firstId, rows: brought };
      return formed;
    } catch (error) {
      // The file rolled back; what is kept beside it in memory must as well.
      this.#reload();
      throw error;
    }
  }

  /** A batch as it travels. A row that can't be read any more is told as gone: its sequence must not go to another. */
  read(batch: BatchRecord): { schemas: SchemaRow[]; channels: ChannelRow[]; rows: DataRow[] } {
    const stored = this.#broughtBy(batch) ?? this.#sql.rowsOf.all(batch.firstId, batch.lastId);
    if (stored.length !== batch.rowCount) {
      // Which row has which number can't be told: none of them may be guessed.
      return { schemas: [], channels: [], rows: Array.from({ length: batch.rowCount }, () => ({ kind: 'gone' })) };
    }
    const schemas = new Map<string, SchemaRow>();
    const channels: ChannelRow[] = [];
    const places = new Map<number, number>();
    const rows = stored.map((row): DataRow => {
      const channel = this.#ledger.channel(row.channel);
      if (!channel) return { kind: 'gone' };
      if (channel.type === '') return vitalRow(row.robot_stamp_ms, row.body);
      let place = places.get(row.channel);
      if (place === undefined) {
        const schema = schemas.get(channel.schema_hash) ?? this.#sql.schema.get(channel.schema_hash);
        if (!schema) return { kind: 'gone' };
        schemas.set(schema.hash, schema);
        const { source, type, schema_hash } = channel;
        place = channels.push({ source, type, schema_hash, publisher: channel.publisher || null }) - 1;
        places.set(row.channel, place);
      }
      return { kind: 'point', channel: place, robot_stamp_ms: row.robot_stamp_ms, cdr: row.body };
    });
    return { schemas: [...schemas.values()], channels, rows };
  }

  /** Lets go of the memory of what the last commit brought. */
  forget(): void {
    this.#brought = { firstId: 0, rows: [] };
  }

  /** Undefined where it is older, or rows of it went within the commit. */
  #broughtBy({ firstId, lastId, rowCount }: BatchRecord): readonly StoredRow[] | undefined {
    const { firstId: from, rows } = this.#brought;
    if (from === 0 || firstId < from || lastId - firstId + 1 !== rowCount) return undefined;
    const found = rows.slice(firstId - from, lastId - from + 1);
    return found.length === rowCount ? found : undefined;
  }

  /** The lowest sequence of the lane that is held, or the next one to be given out. */
  firstUnacked(lane: Lane): number {
    const waiting = this.#unacked.filter((batch) => batch.lane === lane).map((batch) => batch.firstSeq);
    return Math.min(this.#lastSeq[lane] + 1, ...waiting);
  }

  /** Whether the cloud holds sequences of this spool that this file never gave out. */
  isOldCopy(acked: Readonly<Record<Lane, number>>): boolean {
    return acked.live > this.#lastSeq.live || acked.backfill > this.#lastSeq.backfill;
  }

  /**
   * Gives the file a new identity because an old copy of it came back. What the cloud is known to hold goes, what it is known
   * to lack (all that has a place in a lane above `acked`) stays and gets new sequences. Other rows that were here when the
   * file was opened (first opened as a copy, where it shows) may be at the cloud under sequences that this copy knows
   * nothing of; they are dropped, counted. What came since stays. Drops begin anew with the id: the cloud has those of the old
   * one, and adds them up.
   */
  startOver(newId: string, acked: Readonly<Record<Lane, number>>): void {
    try {
      this.#db.transaction(() => {
        this.#db.exec('DELETE FROM drops');
        for (const lane of ['live', 'backfill'] as const) this.#acknowledge(lane, acked[lane]);
        this.#dropper.dropUnplaced(0, this.#copied.endId, DropReason.spoolRestored, this.#unacked);
        this.#copied.settled();
        this.#db.exec('DELETE FROM batches; UPDATE lanes SET last_seq = 0');
        this.#sql.setId.run(newId);
        this.#ledger.save();
      })();
      this.#id = newId;
    } finally {
      this.#reload();
    }
  }

  /** The cloud and this file agree: had it been copied, nothing came of the original since. */
  agreed(): void {
    this.#copied.settled();
  }

  close(): void {
    this.#db.close();
  }

  /** @returns below which id more may be left for the next commit; 0: none is. */
  #dropTooOld(bounds: readonly AgeBound[]): number {
    let leftBelowId = 0;
    for (const bound of bounds) {
      leftBelowId = Math.max(leftBelowId, this.#dropper.dropTooOld(bound, this.openedBeforeId, this.#unacked));
    }
    return leftBelowId;
  }

  /** @returns whether more is left for the next commit. */
  #boundAge({ mayDrop, ...moment }: NonNullable<SpoolWork['age']>): boolean {
    const oldestId = this.#sql.oldest.get()?.id ?? this.#nextId;
    const { openedBeforeId } = this;
    this.#ages.note({ oldestId, nextId: this.#nextId, openedBeforeId }, moment);
    const isWaitedFor = !mayDrop || this.#ages.hadSession(moment.now);
    const endId = isWaitedFor ? 0 : this.#ages.idBefore(moment.maxMs, moment.now);
    return this.#dropper.dropOlder(endId, this.#unacked);
  }

  #acknowledge(lane: Lane, seq: number): void {
    const done = this.#unacked.filter((batch) => batch.lane === lane && batch.firstSeq + batch.rowCount - 1 <= seq);
    if (done.length === 0) return;
    for (const batch of done) {
      for (const part of this.#sql.heldIn.all(batch.firstId, batch.lastId)) {
        this.#ledger.add(part.channel, -part.rows, -(part.bytes + storedBytes(0) * part.rows));
      }
      this.#sql.deleteRange.run(batch.firstId, batch.lastId);
      this.#sql.deleteBatch.run(lane, batch.firstSeq);
    }
    this.#unacked = this.#unacked.filter((batch) => !done.includes(batch));
  }

  #insert(sample: Sample, clock: ClockReading | undefined): StoredRow {
    if (clock && sample.clockMs !== undefined) this.clocks.note(this.#nextId, { ...clock, baseMs: sample.clockMs });
    const channel = this.#ledger.channelFor(sample);
    const body = sample.kind === 'point' ? sample.cdr : vitalBody(sample);
    this.#sql.insert.run(this.#nextId, channel, sample.robotStampMs, body);
    this.#nextId += 1;
    this.#ledger.add(channel, 1, storedBytes(body.byteLength));
    // ROS's messages are never in shared memory.
    return { channel, robot_stamp_ms: sample.robotStampMs, body: body as StoredRow['body'] };
  }

  /** Gives rows of [fromId, toId) that have none yet a place in the lane, as far as the window allows. */
  #form(lane: Lane, fromId: number, toId: number, work: SpoolWork): BatchRecord[] {
    const formed: BatchRecord[] = [];
    let from = fromId;
    while (from < toId && work.mayForm(lane, this.#unacked)) {
      const taken = this.#unacked.find((batch) => batch.firstId <= from && from <= batch.lastId);
      if (taken) {
        from = taken.lastId + 1;
        continue;
      }
      const gapEnd = Math.min(toId, ...this.#unacked.map((batch) => batch.firstId).filter((id) => id > from));
      const batch = this.#gather(lane, from, gapEnd);
      from = batch ? batch.lastId + 1 : gapEnd;
      if (!batch) continue;
      this.#lastSeq = { ...this.#lastSeq, [lane]: batch.firstSeq + batch.rowCount - 1 };
      this.#sql.insertBatch.run({ ...batch });
      this.#sql.setLastSeq.run(this.#lastSeq[lane], lane);
      this.#unacked = [...this.#unacked, batch];
      formed.push(batch);
    }
    return formed;
  }

  #gather(lane: Lane, fromId: number, toId: number): BatchRecord | null {
    let firstId = 0;
    let lastId = 0;
    let rowCount = 0;
    let bytes = 0;
    let clockEnd = Number.POSITIVE_INFINITY;
    for (const row of this.#sql.sizes.iterate(fromId, toId)) {
      const size = storedBytes(row.bytes);
      // A batch has one clock.
      if (row.id >= clockEnd || rowCount === BATCH_ROWS_MAX || (rowCount > 0 && bytes + size > BATCH_BYTES_MAX)) break;
      if (rowCount === 0) [firstId, clockEnd] = [row.id, this.clocks.endOf(row.id)];
      lastId = row.id;
      rowCount += 1;
      bytes += size;
    }
    if (rowCount === 0) return null;
    return { lane, firstSeq: this.#lastSeq[lane] + 1, rowCount, firstId, lastId, bytes };
  }

  #reload(): void {
    this.forget();
    this.#ledger.reload();
    this.clocks.reload(this.#nextId);
    this.#dropper.reset();
    this.#ages.reload();
    this.#unacked = this.#sql.batches.all();
    for (const { lane, last_seq } of this.#sql.lanes.all()) {
      this.#lastSeq = { ...this.#lastSeq, [lane]: last_seq };
    }
  }
}
