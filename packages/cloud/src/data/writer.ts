/**
 * The group commit of what robots send. Batches that wait, from whichever robots, are committed together in one transaction
 * with their spools' marks, and only then acknowledged; while one group is written, the next one gathers. A few vitals by themselves
 * wait a moment for others' before that: thousands of idle robots would else cost a flush each. Whatever else comes takes them along.
 *
 * Order: a robot's batches in the order of their `write` calls; robots take turns, a batch each, so that a flood from one delays
 * the others by a batch, not by the flood. Bounds: a group's rows and bytes (a command's insert waits for one group at
 * most), the bytes that wait. Over the latter a batch is refused as `overloaded`, which its robot's spool survives.
 * A kill loses what was not acknowledged; the robot sends it again, and the marks drop what had been stored after all.
 */
import type { Batch } from '@drover/shared/link/batch';
import type { Lane } from '@drover/shared/link/fields';
import type { Database } from 'better-sqlite3';
import { isStoreUnavailable } from '../db/errors.js';
import type { Store } from '../db/store.js';
import type { RobotRef } from '../robots/robots.js';
import { BatchError, BatchRefusal } from './batch-error.js';
import { Ingest, type Stored } from './ingest.js';

const GROUP_ROWS_MAX = 4000;
const GROUP_BYTES_MAX = 8 * 1024 * 1024;
export const QUEUE_BYTES_MAX = 64 * 1024 * 1024;
/** Vitals gather this long: 2,000 a second are then 100 a commit, which costs a twentieth of one commit each. */
const GATHER_MS = 50;
/** More rows in a batch are a robot that catches up, and it waits for its acknowledgements. */
const GATHERED_ROWS_MAX = 10;
/** What a row takes beside its message, about. */
const ROW_BYTES = 64;

interface Waiting {
  readonly robot: RobotRef;
  readonly batch: Batch;
  readonly receivedMs: number;
  readonly opens: boolean;
  readonly bytes: number;
  readonly resolve: (ackedSeq: number) => void;
  readonly reject: (reason: unknown) => void;
}

/** Of each of a group, by its place: what became of it. */
interface GroupResult {
  readonly results: readonly (Stored | undefined)[];
  readonly failures: ReadonlyMap<Waiting, unknown>;
}

/** What a group came to, for the metrics. */
export interface Committed {
  readonly rows: number;
  readonly batches: number;
}

/** Rows that a robot had delivered, and deleted, and that this store does not have. */
export interface Missing {
  readonly robot: RobotRef;
  readonly rows: number;
}

export class DataWriter {
  readonly #store: Store;
  readonly #queueBytesMax: number;
  readonly #gatherMs: number;
  readonly #onCommitted: (committed: Committed) => void;
  readonly #onMissing: (missing: Missing) => void;
  /** By robot, in the order in which it is their turn. */
  readonly #waiting = new Map<number, Waiting[]>();
  #waitingBytes = 0;
  #ingest: Ingest | undefined;
  #loop: Promise<void> | undefined;
  #stopping = false;
  /** Among what waits is something that should not. */
  #urgent = false;
  /** Ends the gathering of vitals. */
  #hurry: () => void = () => {};

  constructor(options: {
    store: Store;
    queueBytesMax?: number;
    gatherMs?: number;
    onCommitted?: ((committed: Committed) => void) | undefined;
    onMissing?: ((missing: Missing) => void) | undefined;
  }) {
    this.#store = options.store;
    this.#queueBytesMax = options.queueBytesMax ?? QUEUE_BYTES_MAX;
    this.#gatherMs = options.gatherMs ?? GATHER_MS;
    this.#onCommitted = options.onCommitted ?? (() => {});
    this.#onMissing = options.onMissing ?? (() => {});
  }

  async start(): Promise<void> {
    this.#stopping = false;
  }

  /** Writes what waits, refuses what comes. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#hurryUp();
    await this.#loop;
  }

  /** Half of what may wait does: sessions are not read on then, long before a batch would have to be refused. */
  get isBusy(): boolean {
    return this.#waitingBytes * 2 >= this.#queueBytesMax;
  }

  /**
   * Stores a batch; resolves when it is on disk, with the sequence up to which its lane is.
   * @param receivedMs the cloud's clock when the batch came
   * @param opens the first batch of its lane in a session that did not `resume` with what its spool holds: it may begin anywhere
   * @throws BatchError where it is refused, SqliteError where the store can't take it; then nothing of it was stored
   */
  write(robot: RobotRef, batch: Batch, receivedMs: number, opens = false): Promise<number> {
    if (this.#stopping) return Promise.reject(new BatchError(BatchRefusal.stopping, 'the cloud is stopping'));
    const bytes = bytesOf(batch);
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes > this.#queueBytesMax) {
      const message = `${this.#waitingBytes} bytes wait for the disk already; try again later`;
      return Promise.reject(new BatchError(BatchRefusal.overloaded, message));
    }
    return new Promise((resolve, reject) => {
      const queue = this.#waiting.get(robot.key);
      const waiting = { robot, batch, receivedMs, opens, bytes, resolve, reject };
      if (queue) queue.push(waiting);
      else this.#waiting.set(robot.key, [waiting]);
      this.#waitingBytes += bytes;
      if (!canWait(batch) || this.#waiting.size >= GROUP_ROWS_MAX) this.#hurryUp();
      this.#loop ??= this.#run();
    });
  }

  /** How far the lanes of a robot's spool are on disk; 0 = nothing yet. */
  async acked(robotKey: number, spoolId: string): Promise<{ live: number; backfill: number }> {
    return this.#store.exclusive((raw) => {
      const ingest = this.#ingestOn(raw);
      const of = (lane: Lane) => ingest.mark(robotKey, spoolId, lane) ?? 0;
      return { live: of('live'), backfill: of('backfill') };
    });
  }

  /**
   * A session begins: how far the lanes of the robot's spool are on disk, and from there on its batches go on. `firstSeq` is what
   * the robot still holds, where it says so. A store that is behind that (restored from a backup) lacks what lies between for
   * ever: it is noted as missing, and told.
   */
  async resume(
    robot: RobotRef,
    spool: { id: string; first_seq?: Readonly<Record<Lane, number>> | undefined },
    nowMs: number,
  ): Promise<Record<Lane, number>> {
    const { id, first_seq: firstSeq } = spool;
    const { acked, missing } = await this.#store.exclusive((raw) => {
      const ingest = this.#ingestOn(raw);
      const of = (lane: Lane) => ingest.mark(robot.key, id, lane) ?? 0;
      const marks = { live: of('live'), backfill: of('backfill') };
      // Mostly nothing is: what only reads needs no transaction.
      const isMissing = firstSeq && (firstSeq.live > marks.live + 1 || firstSeq.backfill > marks.backfill + 1);
      if (!isMissing) return { acked: marks, missing: 0 };
      const skip = (lane: Lane) => ingest.skipMissing(robot.key, { spool_id: id, lane }, firstSeq[lane], nowMs);
      const rows = raw.transaction(() => skip('live') + skip('backfill')).immediate();
      return { acked: { live: of('live'), backfill: of('backfill') }, missing: rows };
    });
    if (missing > 0) this.#onMissing({ robot, rows: missing });
    return acked;
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      // A turn of the event loop, in which the sockets' other batches join the group.
      await new Promise((resolve) => setImmediate(resolve));
      if (!this.#urgent) await this.#gathered();
      const group = this.#takeGroup();
      this.#urgent = this.#stopping || this.#waiting.size > 0;
      try {
        await this.#store.exclusive((raw) => this.#commit(raw, group));
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#loop = undefined;
  }

  async #gathered(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#gatherMs);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #hurryUp(): void {
    this.#urgent = true;
    this.#hurry();
  }

  #takeGroup(): Waiting[] {
    const group: Waiting[] = [];
    let rows = 0;
    let bytes = 0;
    for (;;) {
      const turn = this.#waiting.entries().next();
      if (turn.done) return group;
      const [robotKey, queue] = turn.value;
      const next = queue[0] as Waiting;
      const fits = rows + next.batch.rows.length <= GROUP_ROWS_MAX && bytes + next.bytes <= GROUP_BYTES_MAX;
      if (group.length > 0 && !fits) return group;
      queue.shift();
      this.#waiting.delete(robotKey);
      // Back to the end of the line.
      if (queue.length > 0) this.#waiting.set(robotKey, queue);
      group.push(next);
      rows += next.batch.rows.length;
      bytes += next.bytes;
      this.#waitingBytes -= next.bytes;
    }
  }

  #commit(raw: Database, group: readonly Waiting[]): void {
    const { results, failures } = this.#storeTogetherOrApart(raw, group);
    for (const [at, one] of group.entries()) {
      const result = results[at];
      if (result && result.missing > 0) this.#onMissing({ robot: one.robot, rows: result.missing });
      if (result) one.resolve(result.ackedSeq);
      else one.reject(failures.get(one));
    }
    const stored = group.filter((one) => !failures.has(one));
    const rows = stored.reduce((sum, one) => sum + one.batch.rows.length, 0);
    this.#onCommitted({ rows, batches: stored.length });
  }

  #storeTogetherOrApart(raw: Database, group: readonly Waiting[]): GroupResult {
    try {
      return this.#storeAll(raw, group, false);
    } catch (error) {
      // A full disk ends the transaction, whoever's row met it; else one of many has failed half way.
      if (isStoreUnavailable(error) || group.length === 1) throw error;
      return this.#storeAll(raw, group, true);
    }
  }

  /**
   * All in one transaction. A batch that is refused takes nothing of the others with it, since nothing of it was written yet; one
   * that fails half way does unless `apart`: each is a savepoint then, whose price is paid only where that happens.
   */
  #storeAll(raw: Database, group: readonly Waiting[], apart: boolean): GroupResult {
    const ingest = this.#ingestOn(raw);
    const results: (Stored | undefined)[] = [];
    const failures = new Map<Waiting, unknown>();
    const store = (one: Waiting) => ingest.store(one.robot, one.batch, one.receivedMs, one.opens);
    const storeOne = apart ? raw.transaction(store) : store;
    const storeAll = raw.transaction(() => {
      for (const [at, one] of group.entries()) {
        try {
          results[at] = storeOne(one);
        } catch (error) {
          const isHarmless = error instanceof BatchError || (apart && !isStoreUnavailable(error));
          if (!isHarmless || !raw.inTransaction) throw error;
          failures.set(one, error);
        }
      }
    });
    storeAll.immediate();
    return { results, failures };
  }

  #ingestOn(raw: Database): Ingest {
    this.#ingest ??= new Ingest(raw);
    return this.#ingest;
  }
}

function canWait({ rows }: Batch): boolean {
  return rows.length <= GATHERED_ROWS_MAX && rows.every(({ kind }) => kind !== 'point');
}

/** The memory a batch takes while it waits, about. */
export function bytesOf(batch: Batch): number {
  let bytes = 0;
  for (const row of batch.rows) bytes += ROW_BYTES + (row.kind === 'point' ? row.cdr.byteLength : 0);
  for (const { text } of batch.schemas) bytes += text.length;
  return bytes;
}
