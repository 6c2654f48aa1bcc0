import type { ClockOffset } from '@drover/shared/link/clock';
import type { Lane } from '@drover/shared/link/fields';
import type { Hello } from '@drover/shared/link/hello';
import type { LinkStatus } from '@drover/shared/link/link-status';
import type { Logger } from 'pino';
import { claimFile, othersFile, type RobotIdentity } from '../disk/robot-identity.js';
import { isCorrupt } from '../disk/store-file.js';
import { SESSION_GRACE_MS } from './age-ledger.js';
import { AgeMarks } from './age-marks.js';
import { type RobotClocks, RobotTime } from './robot-time.js';
import type { AgeBound } from './row-dropper.js';
import { type BatchRecord, type DropCount, type DropReason, type Sample, sourceOf } from './rows.js';
import type { SpoolStore } from './store.js';
import { WaitingSamples } from './waiting-samples.js';

/** Samples wait in memory at most this long for their commit: with it, what a kill -9 can lose. */
export const COMMIT_INTERVAL_MS = 200;
/** So many bytes waiting in memory are committed at once, without waiting for the interval. */
const COMMIT_BYTES = 2 * 1024 * 1024;
/** Between two commits while a backlog is sent: acknowledgements come faster than a disk should be synced. */
const COMMIT_INTERVAL_BUSY_MS = 25;
/** An acknowledgement waits at most this long for samples to share a commit with. */
const COMMIT_INTERVAL_IDLE_MS = 1_000;
/** After a commit that the disk refused. */
const RETRY_INTERVAL_MS = 1_000;
/** A spool to which nothing comes looks at the age of what it holds. */
const AGE_LOOK_INTERVAL_MS = 600_000;
/** How long data may wait, unless told otherwise. */
const AGE_MS_MAX = 7 * 24 * 3_600_000;
const ERROR_LOG_INTERVAL_MS = 60_000;
/**
 * The spool leaves so much of the disk free, whatever its bound: on a disk that it had filled itself it could not even give
 * rows a place in a lane, and so never send and never remove any. The write-ahead logs, 4 MB each, and commands fit in.
 */
export const DISK_RESERVE_BYTES = 16 * 1024 * 1024;
/** Less than this is not held back for the reserve. */
const SPOOL_BYTES_LEAST = 1024 * 1024;

/** The sending side, as the spool sees it: what may be formed now, and where formed batches go. */
export interface BatchOutlet {
  /** Rows from this id on go live, those before it backfill. */
  liveFromId(): number;
  mayForm(lane: Lane, unacked: readonly BatchRecord[]): boolean;
  formed(batches: readonly BatchRecord[]): void;
  /** The robot's clock now + offset = the cloud's; null = not measured. */
  clock?(): ClockOffset | null;
}

export interface SpoolOptions extends RobotClocks {
  /** Opens the file; called again where it turns out corrupt or another robot's, after it was set aside. */
  readonly open: () => SpoolStore;
  readonly setAside: (why: string, detail: string) => void;
  readonly bytesMax: number;
  /** What has waited for longer is dropped while the robot has no session; AGE_MS_MAX by default. */
  readonly ageMsMax?: number | undefined;
  /** Of samples that wait in memory while the disk refuses; BUFFER_BYTES_MAX by default. */
  readonly memoryBytesMax?: number | undefined;
  /** Free on the spool's disk; null: not known. */
  readonly diskFreeBytes?: () => number | null;
  readonly newId: () => string;
  readonly log: Logger;
}

/**
 * Where collected data waits for the cloud. Samples are committed in groups, at most COMMIT_INTERVAL_MS after they came;
 * one transaction carries the new samples, the removal of what was acknowledged and the batches to send next, so that a
 * busy robot syncs its disk five times a second, not once a sample.
 *
 * A disk that refuses writes stops nothing: samples wait in a bounded buffer, drops are counted, and the commit is tried
 * again each second. A corrupt file is set aside and a new one begun; its id changes, which `onIdentityChange` tells.
 */
export class Spool {
  readonly #options: SpoolOptions;
  #store: SpoolStore;
  #outlet: BatchOutlet | null = null;
  /** When the last session of this process ended. */
  #outletEndedMs = Number.NEGATIVE_INFINITY;
  readonly #waiting: WaitingSamples;
  #acked: Partial<Record<Lane, number>> = {};
  #maxAges: ReadonlyMap<string, number> = new Map();
  readonly #ageMarks = new AgeMarks();
  readonly #time: RobotTime;
  /** A commit is due that brings nothing, for the age of what is held. */
  #isAgeDue = false;
  readonly #ageTimer: NodeJS.Timeout;
  #timer: NodeJS.Timeout | null = null;
  #timerDueMs = Number.POSITIVE_INFINITY;
  #lastErrorLogMs = Number.NEGATIVE_INFINITY;
  #failing = false;
  #closed = false;
  #onIdentityChange: (() => void) | null = null;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#time = new RobotTime(options);
    this.#waiting = new WaitingSamples(options.memoryBytesMax);
    this.#store = options.open();
    this.#ageMarks.mark(this.#store.nextId, options.monotonicNow());
    this.#ageTimer = setInterval(() => this.#lookAtAge(), AGE_LOOK_INTERVAL_MS).unref();
  }

  get id(): string {
    return this.#store.id;
  }

  get lastSeq(): Readonly<Record<Lane, number>> {
    return this.#store.lastSeq;
  }

  /**
   * What hello says of this spool. Acknowledgements that are not on disk yet are forgotten: the cloud's welcome tells them again,
   * and until then nothing that is said here to be held goes.
   */
  introduce(): Hello['spool'] {
    this.#acked = {};
    const store = this.#store;
    const firstSeq = { live: store.firstUnacked('live'), backfill: store.firstUnacked('backfill') };
    return { id: store.id, last_seq: { ...store.lastSeq }, first_seq: firstSeq };
  }

  get store(): SpoolStore {
    return this.#store;
  }

  /** Called when the spool's id changed: the session that said the old one must be opened anew. */
  onIdentityChange(listener: () => void): void {
    this.#onIdentityChange = listener;
  }

  /** Takes one sample; on disk within COMMIT_INTERVAL_MS, at once where memory is full. Never throws. */
  append(sample: Sample): void {
    if (this.#closed) return;
    if (!isSound(sample)) {
      // A defect of ours. The file would refuse it, and with it every commit that holds it.
      this.#options.log.error({ source: sourceOf(sample) }, 'a sample with a value that is no number; left out');
      return;
    }
    const { clockMs } = sample;
    this.#waiting.add(clockMs === undefined ? sample : { ...sample, clockMs: this.#time.clock(clockMs).baseMs });
    // A burst of big messages: a disk that takes it loses none.
    if (this.#waiting.isFull && !this.#failing) this.#commit();
    this.#waiting.bound();
    this.#schedule(this.#waiting.size.bytes >= COMMIT_BYTES ? 0 : COMMIT_INTERVAL_MS);
  }

  /** Counts samples that never came here, for instance those over a stream's size bound. */
  countDrop(source: string, reason: DropReason, rows: number, bytes: number): void {
    this.#waiting.countDrop(source, reason, rows, bytes);
    this.#schedule(COMMIT_INTERVAL_MS);
  }

  /**
   * What has waited here for longer (milliseconds, by source) is dropped with the next commit, before it can be sent. How long
   * is told by the monotonic clock; for what was here before a restart, by the robot's clock.
   */
  setMaxAges(maxAges: ReadonlyMap<string, number>): void {
    this.#maxAges = maxAges;
  }

  /** Everything ever dropped, by source and reason, what is not on disk yet included; empty where the file can't be read. */
  drops(): DropCount[] {
    const total = new Map<string, DropCount>();
    for (const drop of [...this.#storedDrops(), ...this.#waiting.drops]) {
      const key = `${drop.reason} ${drop.source}`;
      const known = total.get(key) ?? { ...drop, rows: 0, bytes: 0 };
      total.set(key, { ...known, rows: known.rows + drop.rows, bytes: known.bytes + drop.bytes });
    }
    return [...total.values()];
  }

  /** What waits on disk, as it is told to the cloud; null where the file can't be read. */
  depth(): LinkStatus['spool'] | null {
    try {
      const { rows } = this.#store.held();
      const bytes = this.#store.bytesInUse();
      const oldest = this.#store.oldestStampMs(this.#time.clock());
      return { id: this.id, rows, bytes, bytes_max: this.#options.bytesMax, oldest_robot_ms: oldest };
    } catch {
      // The next commit finds out what is wrong, and says it.
      return null;
    }
  }

  /** Rows below this id have been here for that long, or were when the file was opened. */
  idBefore(ageMs: number): number {
    const id = this.#ageMarks.idBefore(ageMs, this.#options.monotonicNow());
    return Math.max(id, this.#store.openedBeforeId);
  }

  /** Connects the sending side (null: none) and lets it fill its windows. */
  setOutlet(outlet: BatchOutlet | null): void {
    if (this.#outlet && !outlet) this.#outletEndedMs = this.#options.monotonicNow();
    this.#outlet = outlet;
    if (outlet) this.#schedule(0);
  }

  /** The cloud holds everything of the lane up to `seq`: it is removed with the next commit. */
  acknowledge(lane: Lane, seq: number): void {
    this.#acked[lane] = Math.max(seq, this.#acked[lane] ?? 0);
    // With nothing more to send, the removal goes along with the next samples: one sync of the disk for both.
    this.#schedule(this.#store.hasBacklog() ? COMMIT_INTERVAL_BUSY_MS : COMMIT_INTERVAL_IDLE_MS);
  }

  /**
   * Whether this file may speak for that robot. Another robot's data is set aside; an old copy of this robot's file
   * (the cloud holds more than it gave out) starts a new identity. `changed`: the id did, say hello again;
   * `unusable`: the disk refuses, nothing may be sent now.
   */
  claim(robot: RobotIdentity, acked: Readonly<Record<Lane, number>>): 'ours' | 'changed' | 'unusable' {
    const { log, newId } = this.#options;
    try {
      if (!claimFile(this.#store.owned, robot)) {
        // The new one is claimed by the session that is opened anew.
        this.#replace('other-robot', othersFile(this.#store.owned.owner(), robot));
        return 'changed';
      }
      if (!this.#store.isOldCopy(acked)) {
        this.#store.agreed();
        return 'ours';
      }
      const words = 'the spool is an old copy: what may have been sent since it was made is dropped, its id is new';
      log.error({ given: this.#store.lastSeq, acked }, words);
      this.#store.startOver(newId(), acked);
      this.#acked = {};
      return 'changed';
    } catch (error) {
      log.error({ err: error }, 'the spool can not be claimed; its data stays here for now');
      return 'unusable';
    }
  }

  /** A batch as it travels; null where the file can't be read (said, and dealt with). */
  read(batch: BatchRecord): ReturnType<SpoolStore['read']> | null {
    try {
      return this.#store.read(batch);
    } catch (error) {
      this.#failed(error);
      return null;
    }
  }

  /** The offset of the clock that a batch's rows were stamped by, where today's is `measured`. */
  clockOf(batch: BatchRecord, measured: ClockOffset | null): ClockOffset | null {
    return measured && this.#store.clocks.offsetOf(batch.firstId, this.#time.clock(), measured);
  }

  /** Commits what waits and closes the file. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#outlet = null;
    if (this.#timer) clearTimeout(this.#timer);
    clearInterval(this.#ageTimer);
    this.#commit();
    const lost = this.#waiting.size;
    if (lost.rows > 0) {
      this.#options.log.error(lost, 'the disk still refuses writes: what waited in memory is lost with this stop');
    }
    this.#store.close();
  }

  #schedule(wantedMs: number): void {
    const now = this.#options.monotonicNow();
    const delayMs = this.#failing ? Math.max(wantedMs, RETRY_INTERVAL_MS) : wantedMs;
    if (this.#closed || this.#timerDueMs <= now + delayMs) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timerDueMs = now + delayMs;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#timerDueMs = Number.POSITIVE_INFINITY;
      this.#commit();
    }, delayMs);
  }

  #commit(): void {
    if (!this.#store.isOpen && !this.#reopened()) return;
    const { samples, drops } = this.#waiting;
    const acked = this.#acked;
    const outlet = this.#outlet;
    if (this.#waiting.isEmpty && Object.keys(acked).length === 0 && !outlet && !this.#isAgeDue) return;
    const { ageMsMax = AGE_MS_MAX } = this.#options;
    const measured = outlet?.clock?.() ?? null;
    const session = { hasSession: outlet !== null, mayDrop: this.#mayDropForAge() };
    try {
      const formed = this.#store.commit({
        samples,
        drops,
        acked,
        tooOld: this.#tooOld(),
        liveFromId: outlet?.liveFromId() ?? 0,
        mayForm: (lane, unacked) => outlet?.mayForm(lane, unacked) ?? false,
        bytesMax: this.#bytesMax(),
        clock: { ...this.#time.clock(), measured },
        age: { ...this.#time.moment(measured), maxMs: ageMsMax, ...session },
      });
      this.#ageMarks.mark(this.#store.nextId, this.#options.monotonicNow());
      this.#waiting.clear();
      this.#acked = {};
      if (this.#failing) this.#options.log.info('the spool takes writes again');
      this.#failing = false;
      this.#isAgeDue = this.#store.isOldLeft;
      if (this.#isAgeDue) this.#schedule(COMMIT_INTERVAL_MS);
      if (formed.length > 0) outlet?.formed(formed);
      this.#store.forget();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** The bound set, or what keeps the reserve free: then new rows take the place of the oldest. */
  #bytesMax(): number {
    const { bytesMax, diskFreeBytes } = this.#options;
    const freeBytes = diskFreeBytes?.() ?? null;
    if (freeBytes === null) return bytesMax;
    const room = Math.max(0, freeBytes + this.#store.reusableBytes() - DISK_RESERVE_BYTES);
    return Math.min(bytesMax, Math.max(SPOOL_BYTES_LEAST, this.#store.bytesInUse() + room));
  }

  /** While a session stands what waits is delivered, however old it is. */
  #mayDropForAge(): boolean {
    return this.#outlet === null && this.#options.monotonicNow() - this.#outletEndedMs >= SESSION_GRACE_MS;
  }

  #lookAtAge(): void {
    if (this.#outlet || this.#failing || this.#store.held().rows === 0) return;
    this.#isAgeDue = true;
    this.#schedule(0);
  }

  #tooOld(): AgeBound[] {
    const { monotonicNow, now } = this.#options;
    const nowMs = monotonicNow();
    return [...this.#maxAges].map(([source, ageMs]) => ({
      source,
      beforeId: this.#ageMarks.idBefore(ageMs, nowMs),
      beforeStampMs: now() - ageMs,
    }));
  }

  #failed(error: unknown): void {
    const { log, monotonicNow } = this.#options;
    this.#failing = true;
    if (isCorrupt(error)) {
      try {
        this.#replace('corrupt', error.message);
        this.#onIdentityChange?.();
      } catch (cause) {
        log.error({ err: cause }, 'the corrupt spool could not be replaced');
      }
    }
    if (monotonicNow() - this.#lastErrorLogMs >= ERROR_LOG_INTERVAL_MS) {
      this.#lastErrorLogMs = monotonicNow();
      log.error(
        { err: error, waiting: this.#waiting.size },
        'the spool can not be written; data waits in memory, trying again',
      );
    }
    this.#schedule(RETRY_INTERVAL_MS);
  }

  /** After a #replace that failed half-way. */
  #reopened(): boolean {
    try {
      this.#open();
      this.#onIdentityChange?.();
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  #replace(why: string, detail: string): void {
    this.#store.close();
    this.#options.setAside(why, detail);
    this.#open();
  }

  #open(): void {
    this.#store = this.#options.open();
    this.#ageMarks.mark(this.#store.nextId, this.#options.monotonicNow());
    this.#acked = {};
  }

  #storedDrops(): DropCount[] {
    try {
      return this.#store.drops();
    } catch {
      // The next commit finds out what is wrong, and says it.
      return [];
    }
  }
}

function isSound(sample: Sample): boolean {
  const numbers = sample.kind === 'vital' ? [sample.cpu, sample.ram, sample.disk, sample.battery] : [];
  return [sample.robotStampMs, ...numbers].every(Number.isFinite);
}
