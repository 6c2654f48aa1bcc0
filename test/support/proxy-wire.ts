import type { Socket } from 'node:net';

/** How a line treats what passes. */
export interface LineShape {
  /** All connections together. */
  readonly bytesPerS: number;
  readonly delayMs: number;
}

/** As if there were no proxy. */
export const FREE: LineShape = { bytesPerS: Number.POSITIVE_INFINITY, delayMs: 0 };

/** A shaped line hands on this much at a time, in time. */
const SLICE_MS = 20;
const SLICE_BYTES_MIN = 64;
const SLICE_BYTES_MAX = 64 * 1024;

/** A lane whose receiver has this much unread is not read any further. */
const UNSENT_BYTES_MAX = 4 * 1024;

/**
 * One direction of a line, shared by its lanes, which take turns a slice each. It reads from a socket only what it may hand on
 * next, so that what is too fast fills the sender's own buffers, as with a real slow line. What lies between is the
 * kernel's: on loopback a socket takes some 2.5 MB of a sender that does not ask who has read it, so a sender that
 * trusts its socket sees a far longer queue here than behind a real modem. That makes tests through this proxy
 * stricter than life, never milder.
 */
export class Wire {
  #shape: LineShape = FREE;
  #stalled = false;
  #bytes = 0;
  #freeAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #ready = new Set<ProxyLane>();

  get bytes(): number {
    return this.#bytes;
  }

  get delayMs(): number {
    return this.#shape.delayMs;
  }

  get stalled(): boolean {
    return this.#stalled;
  }

  set stalled(stalled: boolean) {
    this.#stalled = stalled;
    this.#run();
  }

  shape(shape: LineShape): void {
    this.#shape = shape;
    this.#freeAtMs = performance.now();
    this.#run();
  }

  /** The lane may have something to hand on. */
  offer(lane: ProxyLane): void {
    this.#ready.add(lane);
    this.#run();
  }

  withdraw(lane: ProxyLane): void {
    this.#ready.delete(lane);
  }

  #run(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (!this.#stalled && this.#ready.size > 0) {
      const waitMs = this.#freeAtMs - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#run(), Math.ceil(waitMs));
        return;
      }
      const [lane] = this.#ready;
      if (!lane) return;
      // Back to the end of the line, where it has more.
      this.#ready.delete(lane);
      const taken = lane.take(this.#slice());
      this.#bytes += taken;
      if (taken > 0) this.#ready.add(lane);
      // Not from now: timers come late, and the rate must not suffer by it; but nothing is saved up either.
      const from = Math.max(this.#freeAtMs, performance.now() - 2 * SLICE_MS);
      this.#freeAtMs = from + (taken / this.#shape.bytesPerS) * 1000;
    }
  }

  #slice(): number {
    const bytes = (this.#shape.bytesPerS * SLICE_MS) / 1000;
    return Math.max(SLICE_BYTES_MIN, Math.min(SLICE_BYTES_MAX, Math.floor(bytes)));
  }
}

/** One direction of one connection. */
export class ProxyLane {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #wire: Wire;
  /** On the way, in order; null = the end. */
  readonly #underWay: (Buffer | null)[] = [];
  #gone = false;
  #end: 'none' | 'due' | 'told' = 'none';

  constructor(from: Socket, to: Socket, wire: Wire) {
    this.#from = from;
    this.#to = to;
    this.#wire = wire;
    from.on('readable', () => this.wake());
    from.on('end', () => {
      this.#end = 'due';
      this.wake();
    });
    // What broke at one end is told at the other as it would be: by a reset, but only where the line stands.
    from.on('close', (hadError) => {
      if (hadError) this.#broken();
    });
    to.on('drain', () => this.wake());
    to.on('close', () => wire.withdraw(this));
    this.wake();
  }

  /** Nothing passes any more, and nobody is told. */
  abandon(): void {
    this.#gone = true;
    this.#wire.withdraw(this);
    this.#underWay.length = 0;
  }

  wake(): void {
    if (this.#gone) return;
    if (this.#from.errored) this.#broken();
    else if (this.#to.writableLength <= UNSENT_BYTES_MAX) this.#wire.offer(this);
  }

  /** Hands on at most so many bytes; returns how many. */
  take(bytesMax: number): number {
    if (this.#gone || this.#to.writableLength > UNSENT_BYTES_MAX) return 0;
    if (this.#end === 'due') {
      this.#end = 'told';
      this.#send(null);
    }
    if (this.#from.destroyed) return 0;
    // At the end, reading is what makes it known.
    const bytes = Math.min(bytesMax, this.#from.readableLength);
    const data = this.#from.read(bytes === 0 ? undefined : bytes) as Buffer | null;
    if (data) this.#send(data);
    return data?.byteLength ?? 0;
  }

  #send(data: Buffer | null): void {
    if (this.#gone) return;
    const delayMs = this.#wire.delayMs;
    if (delayMs === 0 && this.#underWay.length === 0) {
      this.#deliver(data);
      return;
    }
    this.#underWay.push(data);
    setTimeout(() => {
      const next = this.#underWay.shift();
      if (next !== undefined) this.#deliver(next);
    }, delayMs);
  }

  #deliver(data: Buffer | null): void {
    if (this.#to.destroyed) return;
    if (data) this.#to.write(data);
    else this.#to.end();
  }

  #broken(): void {
    if (this.#gone || this.#wire.stalled || this.#to.destroyed) return;
    this.#to.resetAndDestroy();
  }
}
