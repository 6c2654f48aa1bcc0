import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { z } from 'zod';
import type { RosSource } from '../ros/graph.js';
import type { Admitted } from '../ros/guard.js';

/**
 * Notes what is being handled in native code, in a file that outlives the process: the only witness after an abort there.
 *
 * The page cache is enough, as no power cut is to be survived; so entering and leaving cost one small `pwrite` each, and
 * there is never a wait for the disk. The file has a fixed size, written whole when it is opened: a full disk can't
 * refuse a note later. Whatever fails is said once, and then nothing is noted any more: notes never stop the work.
 *
 * Layout, little-endian: 16 bytes of magic, the slot handled now (u16, 1 = the first, 0 = none), and from byte 32 on the slots,
 * each: whether work is under way (u8), the length of its text (u16), the source as JSON.
 */
export interface CrumbsLog {
  warn(fields: object, message: string): void;
}

/** What the process before was doing when it ended. */
export interface Crumbs {
  /** What native code was handling at that moment. */
  readonly handled: RosSource | null;
  /** What it had in hand besides: calls without an answer, goals without a result. */
  readonly underWay: readonly RosSource[];
}

const MAGIC = Buffer.from('drover crumbs 1\n', 'latin1');
const NOW_AT = MAGIC.length;
/** Sources noted at a time; of more, the one used longest ago gives way, and of more under way some are not noted. */
const SLOTS = 256;
const SLOTS_AT = 32;
/** A name has at most 247 characters and types are of that order; a longer source is not noted. */
const SLOT_BYTES = 768;
const SLOT_HEAD_BYTES = 3;
const FILE_BYTES = SLOTS_AT + SLOTS * SLOT_BYTES;

const rosSource = z.object({
  kind: z.enum(['subscription', 'publisher', 'service', 'action']),
  name: z.string(),
  type: z.string(),
});

/** What the file says; null where there is none, or nothing that could be understood. */
export function readCrumbs(path: string): Crumbs | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    return null;
  }
  if (bytes.length !== FILE_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return null;
  const now = bytes.readUInt16LE(NOW_AT);
  const underWay: RosSource[] = [];
  for (let index = 0; index < SLOTS; index += 1) {
    if (bytes[offsetOf(index)] !== 1) continue;
    const source = sourceAt(bytes, index);
    if (source) underWay.push(source);
  }
  return { handled: now >= 1 && now <= SLOTS ? sourceAt(bytes, now - 1) : null, underWay };
}

function sourceAt(bytes: Buffer, index: number): RosSource | null {
  const at = offsetOf(index);
  const length = bytes.readUInt16LE(at + 1);
  if (length > SLOT_BYTES - SLOT_HEAD_BYTES) return null;
  const text = bytes.toString('utf8', at + SLOT_HEAD_BYTES, at + SLOT_HEAD_BYTES + length);
  try {
    return rosSource.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function offsetOf(index: number): number {
  return SLOTS_AT + index * SLOT_BYTES;
}

interface Slot {
  readonly key: string;
  /** Pieces of work under way. */
  active: number;
  /** The greater, the later it was used. */
  used: number;
}

/** Writes the notes of this process over those of the one before. */
export class CrumbWriter {
  readonly #log: CrumbsLog;
  /** Closed, or lost to an error: nothing is noted any more. */
  #file: number | null = null;
  readonly #slots: Slot[] = [];
  readonly #word = Buffer.alloc(2);
  #uses = 0;
  /** As in the file: 0 or a slot's number. */
  #now = 0;

  constructor(path: string, log: CrumbsLog) {
    this.#log = log;
    this.#try(() => {
      const empty = Buffer.alloc(FILE_BYTES);
      MAGIC.copy(empty);
      this.#file = openSync(path, 'w', 0o600);
      writeFileSync(this.#file, empty);
    });
  }

  noting(source: RosSource): Admitted {
    const { kind, name, type } = source;
    const text = Buffer.from(JSON.stringify({ kind, name, type }));
    const key = text.toString('latin1');
    let index = -1;
    const slot = (): number => {
      if (this.#slots[index]?.key !== key) index = this.#take(key, text);
      return index;
    };
    return {
      during: (work) => {
        const before = this.#now;
        this.#point(slot() + 1);
        try {
          return work();
        } finally {
          this.#point(before);
        }
      },
      begin: () => this.#begin(slot()),
    };
  }

  /** The process goes on, or ends, without notes; those in the file stay. */
  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #begin(index: number): () => void {
    const slot = this.#slots[index];
    if (slot === undefined) return () => {};
    slot.active += 1;
    if (slot.active === 1) this.#write(Buffer.of(1), 1, offsetOf(index));
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      slot.active -= 1;
      if (slot.active === 0) this.#write(Buffer.of(0), 1, offsetOf(index));
    };
  }

  /** @param now 0 or a slot's number. */
  #point(now: number): void {
    const slot = this.#slots[now - 1];
    if (slot) {
      this.#uses += 1;
      slot.used = this.#uses;
    }
    this.#now = now;
    this.#word.writeUInt16LE(now);
    this.#write(this.#word, 2, NOW_AT);
  }

  /** The slot of a source, made where it has none; -1 where there is no room for it. */
  #take(key: string, text: Buffer): number {
    const known = this.#slots.findIndex((slot) => slot.key === key);
    if (known >= 0) return known;
    const index = this.#slots.length < SLOTS ? this.#slots.length : this.#leastUsed();
    if (index < 0 || text.length > SLOT_BYTES - SLOT_HEAD_BYTES) return -1;
    const bytes = Buffer.alloc(SLOT_HEAD_BYTES + text.length);
    bytes.writeUInt16LE(text.length, 1);
    text.copy(bytes, SLOT_HEAD_BYTES);
    this.#write(bytes, bytes.length, offsetOf(index));
    this.#slots[index] = { key, active: 0, used: this.#uses };
    return index;
  }

  #leastUsed(): number {
    let found = -1;
    let used = Number.POSITIVE_INFINITY;
    for (const [index, slot] of this.#slots.entries()) {
      if (slot.active > 0 || index === this.#now - 1 || slot.used >= used) continue;
      found = index;
      used = slot.used;
    }
    return found;
  }

  #write(bytes: Buffer, length: number, position: number): void {
    const file = this.#file;
    if (file !== null) this.#try(() => writeSync(file, bytes, 0, length, position));
  }

  #try(work: () => void): void {
    try {
      work();
    } catch (err) {
      this.#log.warn({ err }, 'what is handled in native code can not be noted: after a crash nobody will know it');
      this.close();
    }
  }
}
