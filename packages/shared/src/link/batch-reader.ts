/**
 * Reads the points of a batch straight from its MessagePack: they are nearly all that a cloud receives, and the general way (count what
 * there is, decode, check against the schema) costs four times as much. It knows the one form in which agents write a point.
 * What differs in any way, if only by the order of its fields, is left to the general way, which alone says what is wrong.
 */
import { BATCH_ROWS_MAX, type Batch, type PointRow } from './batch.js';
import { sizeAfter } from './objects.js';

const ROWS = fixstr('rows');
const KIND_BATCH = [...fixstr('kind'), ...fixstr('batch')];
/** A map of four, and its first field with its value. */
const POINT = [0x84, ...fixstr('kind'), ...fixstr('point'), ...fixstr('channel')];
const STAMP = fixstr('robot_stamp_ms');
const CDR = fixstr('cdr');

const FIXMAP = 0x80;
const FIXARRAY = 0x90;
const ARRAY16 = 0xdc;

/** A batch in two pieces. */
export interface SplitBatch {
  /** The whole message, with the first of its rows alone: for the general way. */
  readonly head: Uint8Array;
  /** The others. */
  readonly rows: PointRow[];
}

/** Undefined where the message is not a batch of points, each as agents write it, with the rows at its end. */
export function splitBatch(whole: Uint8Array): SplitBatch | undefined {
  const fields = (whole[0] ?? 0) - FIXMAP;
  if (fields < 1 || fields > 15 || !holds(whole, 1, KIND_BATCH)) return undefined;
  const view = new DataView(whole.buffer, whole.byteOffset, whole.byteLength);
  let at = 1 + KIND_BATCH.length;
  for (let field = 1; field < fields - 1; field += 1) at = itemEnd(view, itemEnd(view, at));
  if (!holds(whole, at, ROWS)) return undefined;
  const listAt = at + ROWS.length;
  const isLong = whole[listAt] === ARRAY16 && listAt + 3 <= whole.byteLength;
  const count = isLong ? view.getUint16(listAt + 1) : (whole[listAt] ?? 0) - FIXARRAY;
  // A single row is all head.
  if (count < 2 || count > (isLong ? BATCH_ROWS_MAX : 15)) return undefined;
  const firstAt = listAt + (isLong ? 3 : 1);
  const secondAt = itemEnd(view, firstAt);
  const rows = pointsOf(whole, view, secondAt, count - 1);
  if (!rows) return undefined;
  const head = new Uint8Array(listAt + 1 + secondAt - firstAt);
  head.set(whole.subarray(0, listAt));
  head[listAt] = FIXARRAY + 1;
  head.set(whole.subarray(firstAt, secondAt), listAt + 1);
  return { head, rows };
}

/** The batch that was split. */
export function joinBatch(head: Batch, rows: readonly PointRow[]): Batch {
  for (const row of rows) head.rows.push(row);
  return head;
}

/** So many points, which must fill the message to its end. */
function pointsOf(whole: Uint8Array, view: DataView, from: number, count: number): PointRow[] | undefined {
  // What comes from a socket is never shared between threads.
  const buffer = whole.buffer as ArrayBuffer;
  const { byteOffset } = whole;
  const end = whole.byteLength;
  const rows: PointRow[] = [];
  let at = from;
  for (let row = 0; row < count; row += 1) {
    if (!holds(whole, at, POINT)) return undefined;
    at += POINT.length;
    const channelHead = whole[at] ?? 0xff;
    // One byte to 127, and a byte behind a head to 255: further channels of a batch go the general way.
    if (channelHead > 0x7f && channelHead !== 0xcc) return undefined;
    const channel = channelHead === 0xcc ? (whole[at + 1] ?? 0) : channelHead;
    at += channelHead === 0xcc ? 2 : 1;
    if (!holds(whole, at, STAMP)) return undefined;
    at += STAMP.length + 9;
    if (at > end) return undefined;
    const robotStampMs = stampAt(whole, view, at - 9);
    if (!Number.isFinite(robotStampMs) || !holds(whole, at, CDR)) return undefined;
    at += CDR.length;
    const lengthBytes = LENGTH_BYTES_OF_BIN[(whole[at] ?? 0) - 0xc4];
    if (lengthBytes === undefined || at + 1 + lengthBytes > end) return undefined;
    const byteCount = lengthAt(view, at + 1, lengthBytes);
    at += 1 + lengthBytes;
    if (at + byteCount > end) return undefined;
    const cdr = new Uint8Array(buffer, byteOffset + at, byteCount);
    at += byteCount;
    rows.push({ kind: 'point', channel, robot_stamp_ms: robotStampMs, cdr });
  }
  return at === end ? rows : undefined;
}

/** A float64, or a uint64 as whole numbers of milliseconds are written; NaN for anything else. */
function stampAt(whole: Uint8Array, view: DataView, at: number): number {
  if (whole[at] === 0xcb) return view.getFloat64(at + 1);
  if (whole[at] === 0xcf) return view.getUint32(at + 1) * 2 ** 32 + view.getUint32(at + 5);
  return Number.NaN;
}

const LENGTH_BYTES_OF_BIN: readonly number[] = [1, 2, 4];

function lengthAt(view: DataView, at: number, bytes: number): number {
  return bytes === 1 ? view.getUint8(at) : bytes === 2 ? view.getUint16(at) : view.getUint32(at);
}

/** Where the item that begins there ends, with all it holds; the end of the text where it is cut off. */
function itemEnd(view: DataView, from: number): number {
  let at = from;
  for (let open = 1; open > 0 && at < view.byteLength; open -= 1) {
    const head = view.getUint8(at);
    open += itemsIn(view, at, head);
    at += 1 + sizeAfter(view, at, head);
  }
  return Math.min(at, view.byteLength);
}

/** How many items an item holds: two for each field of a map. */
function itemsIn(view: DataView, at: number, head: number): number {
  if (head >= FIXMAP && head < FIXARRAY) return 2 * (head - FIXMAP);
  if (head >= FIXARRAY && head <= 0x9f) return head - FIXARRAY;
  if (head < ARRAY16 || head > 0xdf) return 0;
  const bytes = head % 2 === 0 ? 2 : 4;
  if (at + 1 + bytes > view.byteLength) return 0;
  return lengthAt(view, at + 1, bytes) * (head >= 0xde ? 2 : 1);
}

function fixstr(text: string): readonly number[] {
  return [0xa0 + text.length, ...new TextEncoder().encode(text)];
}

function holds(whole: Uint8Array, at: number, expected: readonly number[]): boolean {
  for (let byte = 0; byte < expected.length; byte += 1) if (whole[at + byte] !== expected[byte]) return false;
  return true;
}
