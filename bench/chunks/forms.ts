/** Two ways to keep a stream's points in SQLite: a row each, as the cloud does, and packed in chunks. Prototypes of the second, for measuring. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { addPointsSql, POINTS_A_STATEMENT } from '@drover/cloud/dist/data/ingest-sql.js';
import type { Database, Statement } from 'better-sqlite3';

/** Points of one stream, in the order of their arrival. */
export interface Piece {
  readonly source: number;
  readonly stampsMs: readonly number[];
  readonly cdrs: readonly Uint8Array[];
}

export interface Read {
  readonly stampMs: number;
  readonly cdr: Uint8Array;
}

/** A way to keep points. What it does runs in transactions of its caller's. */
export interface Form {
  add(pieces: readonly Piece[]): void;
  /** What may be done later, and must be at some time: a part of it. */
  tidy(): void;
  /** The newest first, up to that moment, exclusive. */
  latest(source: number, count: number, beforeMs: number): Read[];
  /** The one that a uuid names, by what can be told from it: its stamp, and a hash of its place that must be computed for each. */
  at(source: number, stampMs: number, matches: (place: number) => boolean): Read | undefined;
  /** Removes what arrived first, so many points or a few less. Returns how many. */
  removeOldest(points: number): number;
}

export class Rows implements Form {
  readonly #add: readonly { rows: number; statement: Statement }[];
  readonly #latest: Statement<unknown[], { id: number; stamp_ms: number; cdr: Buffer }>;
  readonly #at: Statement<unknown[], { id: number; cdr: Buffer }>;
  readonly #first: Statement<[], number>;
  readonly #remove: Statement;

  constructor(raw: Database) {
    this.#add = POINTS_A_STATEMENT.map((rows) => ({ rows, statement: raw.prepare(addPointsSql(rows)) }));
    this.#latest = raw.prepare(
      'SELECT id, stamp_ms, cdr FROM points WHERE source_key = ? AND stamp_ms < ? ORDER BY stamp_ms DESC, id DESC LIMIT ?',
    );
    this.#at = raw.prepare('SELECT id, cdr FROM points WHERE source_key = ? AND stamp_ms = ?');
    this.#first = raw.prepare<[], number>('SELECT min(id) FROM points').pluck();
    this.#remove = raw.prepare('DELETE FROM points WHERE id < ?');
  }

  add(pieces: readonly Piece[]): void {
    const nowMs = Date.now();
    const values: unknown[] = [];
    for (const { source, stampsMs, cdrs } of pieces) {
      for (const [at, cdr] of cdrs.entries()) values.push(source, source, stampsMs[at], nowMs, null, cdr);
    }
    let at = 0;
    for (const { rows, statement } of this.#add) {
      for (; at + rows * 6 <= values.length; at += rows * 6) statement.run(values.slice(at, at + rows * 6));
    }
  }

  tidy(): void {}

  latest(source: number, count: number, beforeMs: number): Read[] {
    return this.#latest.all(source, beforeMs, count).map(({ stamp_ms: stampMs, cdr }) => ({ stampMs, cdr }));
  }

  at(source: number, stampMs: number, matches: (place: number) => boolean): Read | undefined {
    const found = this.#at.all(source, stampMs).find(({ id }) => matches(id));
    return found && { stampMs, cdr: found.cdr };
  }

  removeOldest(points: number): number {
    return this.#remove.run((this.#first.get() ?? 0) + points).changes;
  }
}

/** Chunks of one size that become one of the next. */
const MERGED_AT_ONCE = 16;
/** A chunk of as many is not merged any more: a read of one point unpacks all of them. */
const CHUNK_POINTS = 1_000;
/** Fewer are not packed: the next merge does that. */
const PACKED_POINTS_MIN = 100;

interface Chunk {
  readonly key: number;
  readonly first_place: number;
  readonly count: number;
  readonly packed: number;
  readonly body: Buffer;
}

export const CHUNKS_SQL = `
CREATE TABLE chunks (
  key INTEGER PRIMARY KEY,
  source_key INTEGER NOT NULL,
  -- of the points: the first's place in the order of arrival, which a uuid names and a merge must keep
  first_place INTEGER NOT NULL,
  count INTEGER NOT NULL,
  first_stamp_ms INTEGER NOT NULL,
  last_stamp_ms INTEGER NOT NULL,
  packed INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX chunks_by_source ON chunks (source_key, last_stamp_ms, first_stamp_ms);
`;

/**
 * A chunk for each stream of a batch, and 16 of a size merged into one: what a log-structured store does. A point is rewritten
 * once for each size that it passes.
 */
export class Chunks implements Form {
  readonly #isPacked: boolean;
  readonly #add: Statement;
  readonly #newest: Statement<unknown[], Chunk & { last_stamp_ms: number }>;
  readonly #around: Statement<unknown[], Chunk>;
  readonly #get: Statement<unknown[], Chunk>;
  readonly #remove: Statement;
  readonly #oldest: Statement<[], { key: number; count: number }>;
  readonly #places = new Map<number, number>();
  /** By stream and size, the chunks that wait for a merge; a real store would ask the table after a restart. */
  readonly #small = new Map<number, number[][]>();
  readonly #due: { source: number; size: number }[] = [];

  constructor(raw: Database, isPacked: boolean) {
    this.#isPacked = isPacked;
    raw.exec(CHUNKS_SQL);
    this.#add = raw.prepare(
      'INSERT INTO chunks (source_key, first_place, count, first_stamp_ms, last_stamp_ms, packed, body) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#newest = raw.prepare(
      'SELECT * FROM chunks WHERE source_key = ? AND first_stamp_ms < ? ORDER BY last_stamp_ms DESC',
    );
    this.#around = raw.prepare(
      'SELECT * FROM chunks WHERE source_key = ? AND last_stamp_ms >= ? AND first_stamp_ms <= ?',
    );
    this.#get = raw.prepare('SELECT * FROM chunks WHERE key = ?');
    this.#remove = raw.prepare('DELETE FROM chunks WHERE key = ?');
    this.#oldest = raw.prepare('SELECT key, count FROM chunks ORDER BY key LIMIT 1');
  }

  add(pieces: readonly Piece[]): void {
    for (const { source, stampsMs, cdrs } of pieces) {
      const place = this.#places.get(source) ?? 1;
      this.#places.set(source, place + cdrs.length);
      this.#put(source, place, 0, cdrs.length, [body(stampsMs, cdrs)], stampsMs);
    }
  }

  tidy(): void {
    for (const { source, size } of this.#due.splice(0)) {
      const keys = this.#small.get(source)?.[size]?.splice(0, MERGED_AT_ONCE) ?? [];
      const chunks = keys.map((key) => this.#get.get(key)).filter((chunk) => chunk !== undefined);
      const [first] = chunks;
      if (!first) continue;
      const bodies = chunks.map(unpacked);
      const stamps = bodies.flatMap((one) => pointsOf(one).map(({ stampMs }) => stampMs));
      for (const key of keys) this.#remove.run(key);
      this.#put(source, first.first_place, size + 1, stamps.length, bodies, stamps);
    }
  }

  latest(source: number, count: number, beforeMs: number): Read[] {
    let found: Read[] = [];
    for (const chunk of this.#newest.iterate(source, beforeMs)) {
      // Chunks may overlap: one that ends before what is already found adds nothing.
      const last = found[count - 1];
      if (last && chunk.last_stamp_ms < last.stampMs) break;
      found.push(...pointsOf(unpacked(chunk)).filter(({ stampMs }) => stampMs < beforeMs));
      found.sort((a, b) => b.stampMs - a.stampMs);
      found = found.slice(0, count);
    }
    return found;
  }

  at(source: number, stampMs: number, matches: (place: number) => boolean): Read | undefined {
    for (const chunk of this.#around.all(source, stampMs, stampMs)) {
      const points = pointsOf(unpacked(chunk));
      const found = points.find((one, at) => one.stampMs === stampMs && matches(chunk.first_place + at));
      if (found) return found;
    }
    return undefined;
  }

  removeOldest(points: number): number {
    let removed = 0;
    for (let next = this.#oldest.get(); next && removed < points; next = this.#oldest.get()) {
      this.#remove.run(next.key);
      removed += next.count;
    }
    return removed;
  }

  #put(source: number, place: number, size: number, count: number, bodies: Buffer[], stamps: readonly number[]): void {
    const isPacked = this.#isPacked && count >= PACKED_POINTS_MIN;
    const whole = bodies.length === 1 ? (bodies[0] ?? Buffer.of()) : Buffer.concat(bodies);
    const stored = isPacked ? deflateRawSync(whole, { level: 1 }) : whole;
    const ends = [Math.min(...stamps), Math.max(...stamps)];
    const added = this.#add.run(source, place, count, ...ends, isPacked ? 1 : 0, stored);
    if (count >= CHUNK_POINTS) return;
    const sizes = this.#small.get(source) ?? [];
    this.#small.set(source, sizes);
    const small = sizes[size] ?? [];
    sizes[size] = small;
    small.push(Number(added.lastInsertRowid));
    if (small.length === MERGED_AT_ONCE) this.#due.push({ source, size });
  }
}

/** Stamp (float64), length (uint32), bytes; one after the other. */
function body(stampsMs: readonly number[], cdrs: readonly Uint8Array[]): Buffer {
  const whole = Buffer.allocUnsafe(cdrs.reduce((sum, cdr) => sum + 12 + cdr.byteLength, 0));
  let at = 0;
  for (const [index, cdr] of cdrs.entries()) {
    whole.writeDoubleLE(stampsMs[index] ?? 0, at);
    whole.writeUInt32LE(cdr.byteLength, at + 8);
    whole.set(cdr, at + 12);
    at += 12 + cdr.byteLength;
  }
  return whole;
}

function unpacked(chunk: Chunk): Buffer {
  return chunk.packed ? inflateRawSync(chunk.body) : chunk.body;
}

function pointsOf(whole: Buffer): Read[] {
  const points: Read[] = [];
  for (let at = 0; at < whole.byteLength; ) {
    const bytes = whole.readUInt32LE(at + 8);
    points.push({ stampMs: whole.readDoubleLE(at), cdr: whole.subarray(at + 12, at + 12 + bytes) });
    at += 12 + bytes;
  }
  return points;
}
