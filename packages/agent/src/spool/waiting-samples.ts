import { type DropCount, type DropReason, DropReason as Reason, type Sample, sampleBytes, sourceOf } from './rows.js';

/** What waits in memory while the disk refuses, unless told otherwise; past it the oldest goes, counted. */
export const BUFFER_BYTES_MAX = 16 * 1024 * 1024;
/** What a sample takes in memory beside its bytes, about: objects and a buffer of its own. */
const SAMPLE_MEMORY_BYTES = 600;

/** Samples, and drops that were counted, which wait in memory for the commit that writes them. */
export class WaitingSamples {
  readonly #bytesMax: number;
  #samples: Sample[] = [];
  #bytes = 0;
  #drops = new Map<string, DropCount>();

  constructor(bytesMax = BUFFER_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  get samples(): readonly Sample[] {
    return this.#samples;
  }

  get drops(): DropCount[] {
    return [...this.#drops.values()];
  }

  get isEmpty(): boolean {
    return this.#samples.length === 0 && this.#drops.size === 0;
  }

  /** Of the samples. */
  get size(): { rows: number; bytes: number } {
    return { rows: this.#samples.length, bytes: this.#bytes };
  }

  /** More is here than memory may hold; one sample always may be. */
  get isFull(): boolean {
    return this.#samples.length > 1 && this.#bytes + this.#samples.length * SAMPLE_MEMORY_BYTES > this.#bytesMax;
  }

  add(sample: Sample): void {
    this.#samples.push(sample);
    this.#bytes += sampleBytes(sample);
  }

  /** Lets the oldest go, counted, until the others may stay. */
  bound(): void {
    while (this.isFull) {
      const oldest = this.#samples.shift();
      if (!oldest) return;
      this.#bytes -= sampleBytes(oldest);
      this.countDrop(sourceOf(oldest), Reason.diskRefused, 1, sampleBytes(oldest));
    }
  }

  countDrop(source: string, reason: DropReason, rows: number, bytes: number): void {
    const key = `${reason} ${source}`;
    const known = this.#drops.get(key) ?? { source, reason, rows: 0, bytes: 0 };
    this.#drops.set(key, { ...known, rows: known.rows + rows, bytes: known.bytes + bytes });
  }

  /** All of it is on disk. */
  clear(): void {
    this.#samples = [];
    this.#bytes = 0;
    this.#drops = new Map();
  }
}
