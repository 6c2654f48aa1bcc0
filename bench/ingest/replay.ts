import type { Batch } from '@drover/shared/link/batch';
import { FRAME_BYTES_MAX } from '@drover/shared/link/protocol';
import { encode } from '@msgpack/msgpack';
import type { Messages } from '../links/messages.js';

/** Room for a part's envelope, as the codec leaves it. */
const PART_BYTES = FRAME_BYTES_MAX - 128;
/** Written as a uint32 and a float64, whose places are looked up once and then only overwritten. */
const SEQ_PLACEHOLDER = 0x7f000001;
const STAMP_PLACEHOLDER = 1.5;
const UINT32 = 0xce;
const FLOAT64 = 0xcb;

/**
 * A batch that is encoded once, in frames as an agent cuts them, and sent again and again with another sequence and other stamps: so that
 * who sends costs the machine little, and what arrives differs as it would.
 */
export class ReplayBatch {
  readonly rows: number;
  readonly frames: readonly Uint8Array[];
  readonly #seqAt: number;
  readonly #stampsAt: readonly number[];
  /** Length of the content at each frame's end. */
  readonly #contents: readonly number[];
  readonly #scratch = new DataView(new ArrayBuffer(8));

  /** Points of so many sources in turn. `first`: with the definition, as the first batch of a session has it. */
  constructor(options: { spoolId: string; messages: Messages; sources: number; first: boolean }) {
    const { schema, cdrs } = options.messages;
    const batch: Batch = {
      kind: 'batch',
      spool_id: options.spoolId,
      lane: 'live',
      first_seq: SEQ_PLACEHOLDER,
      clock: { offset_ms: 0.25, uncertainty_ms: 0.5 },
      schemas: options.first ? [{ hash: schema.hash, type: schema.type, text: schema.text }] : [],
      channels: Array.from({ length: options.sources }, (_, source) => ({
        ...{ source: `/bench/fix_${source}`, type: schema.type, schema_hash: schema.hash, publisher: '/bench/gps' },
      })),
      rows: cdrs.map((cdr, at) => {
        return { kind: 'point' as const, channel: at % options.sources, robot_stamp_ms: STAMP_PLACEHOLDER, cdr };
      }),
    };
    const whole = Buffer.from(encode(batch));
    this.rows = cdrs.length;
    this.#seqAt = placeAfter(whole, 'first_seq', UINT32, 0);
    const stamps: number[] = [];
    for (let from = this.#seqAt; stamps.length < this.rows; ) {
      from = placeAfter(whole, 'robot_stamp_ms', FLOAT64, from);
      stamps.push(from);
    }
    this.#stampsAt = stamps;
    const count = Math.ceil(whole.byteLength / PART_BYTES);
    const contents = Array.from({ length: count }, (_, part) =>
      whole.subarray(part * PART_BYTES, (part + 1) * PART_BYTES),
    );
    this.#contents = contents.map((content) => content.byteLength);
    // The number of a message in parts is free again when its last part has come.
    this.frames =
      count === 1
        ? [whole]
        : contents.map((data, index) => encode({ kind: 'part', message: 1, index, last: index === count - 1, data }));
  }

  /** Its rows become those from `firstSeq` on, a tenth of a millisecond apart. */
  aim(firstSeq: number, stampMs: number): void {
    this.#scratch.setUint32(0, firstSeq);
    this.#put(this.#seqAt, 4);
    for (const [row, at] of this.#stampsAt.entries()) {
      this.#scratch.setFloat64(0, stampMs + row / 10);
      this.#put(at, 8);
    }
  }

  /** Byte by byte: a value may lie across two frames. */
  #put(at: number, length: number): void {
    for (let byte = 0; byte < length; byte += 1) {
      const part = Math.floor((at + byte) / PART_BYTES);
      const frame = this.frames[part];
      if (frame)
        frame[frame.byteLength - (this.#contents[part] ?? 0) + ((at + byte) % PART_BYTES)] =
          this.#scratch.getUint8(byte);
    }
  }
}

/** Where the value of the next field of that name lies, behind its MessagePack head. */
function placeAfter(whole: Buffer, name: string, head: number, from: number): number {
  const at = whole.indexOf(name, from, 'latin1') + name.length;
  if (whole[at] !== head) throw new Error(`${name} is not encoded as it was thought to be`);
  return at + 1;
}
