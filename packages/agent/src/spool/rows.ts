import type { Lane } from '@drover/shared/link/fields';

/** What capabilities put into the spool. */

/** One sample of a source, as it came from ROS. */
export interface PointSample {
  readonly kind: 'point';
  readonly source: string;
  /** Full type name, `pkg/msg/Name`. */
  readonly type: string;
  readonly schema: { readonly hash: string; readonly text: string };
  /** Full name of the only publishing node, or null. */
  readonly publisher: string | null;
  /** The robot's wall clock when it received the message (a log record: the record's own stamp). */
  readonly robotStampMs: number;
  /** Wall clock minus monotonic clock when it was stamped: tells that the clock was set. */
  readonly clockMs?: number;
  /** Owned by the spool from here on: the caller must not write to it again. */
  readonly cdr: Uint8Array;
}

/** One sample of the robot's vitals, percent; battery -1 = none known. */
export interface VitalSample {
  readonly kind: 'vital';
  readonly robotStampMs: number;
  /** As of a point. */
  readonly clockMs?: number;
  readonly cpu: number;
  readonly ram: number;
  readonly disk: number;
  readonly battery: number;
}

export type Sample = PointSample | VitalSample;

/** Under which name drops of vitals are counted; ROS names begin with a slash, so no stream can be called this. */
export const VITALS_SOURCE = 'vitals';

/** Why a sample was dropped on the robot. */
export const DropReason = {
  /** The spool was at its bound: the oldest of the biggest stream went. */
  spoolFull: 'spool_full',
  /** The disk refused writes for so long that the buffer in memory was at its bound. */
  diskRefused: 'disk_refused',
  /** The message was over the stream's size bound. */
  tooLarge: 'too_large',
  /** The agent stood still (a slow disk, a busy machine) for longer than ROS had room for what came: as many samples as it would have kept. */
  overrun: 'overrun',
  /** It waited for longer than its stream lets its data wait. */
  tooOld: 'too_old',
  /** An old copy of the spool came back: what the cloud may already hold was not sent again. */
  spoolRestored: 'spool_restored',
} as const;
export type DropReason = (typeof DropReason)[keyof typeof DropReason];

export function sourceOf(sample: Sample): string {
  return sample.kind === 'point' ? sample.source : VITALS_SOURCE;
}

/** What a row costs beside its body: key, stamp, and its share of the page. */
const ROW_OVERHEAD_BYTES = 48;

export function sampleBytes(sample: Sample): number {
  return ROW_OVERHEAD_BYTES + (sample.kind === 'point' ? sample.cdr.byteLength : 64);
}

/** The same for a row on disk, by the length of its body. */
export function storedBytes(bodyBytes: number): number {
  return ROW_OVERHEAD_BYTES + bodyBytes;
}

/** Rows that were given a lane and sequence numbers, to be sent until acknowledged. */
export interface BatchRecord {
  readonly lane: Lane;
  readonly firstSeq: number;
  readonly rowCount: number;
  readonly firstId: number;
  readonly lastId: number;
  readonly bytes: number;
}

export interface DropCount {
  readonly source: string;
  readonly reason: DropReason;
  readonly rows: number;
  readonly bytes: number;
}
