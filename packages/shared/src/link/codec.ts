import { decode, encode } from '@msgpack/msgpack';
import { z } from 'zod';
import type { Batch } from './batch.js';
import { joinBatch, splitBatch } from './batch-reader.js';
import { type DownMessage, downMessage } from './down.js';
import { bytes } from './fields.js';
import { countObjects } from './objects.js';
import { CloseCode, FRAME_BYTES_MAX, FRAME_BYTES_MIN, MESSAGE_BYTES_MAX } from './protocol.js';
import { type UpMessage, upMessage } from './up.js';

/** A frame we can't accept; `closeCode` and the message (cut to 123 bytes by the socket's owner) go to the peer. */
export class LinkError extends Error {
  override readonly name = 'LinkError';
  constructor(
    readonly closeCode: CloseCode,
    message: string,
  ) {
    super(message);
  }
}

/**
 * One piece of a message too large for a frame. Pieces of one message come in order; other messages may come between
 * them, which is the point: a command need not wait for a point cloud.
 */
const part = z.object({
  kind: z.literal('part'),
  /** Numbers the messages sent in parts on this session and direction, from 1. */
  message: z.int().positive(),
  index: z.int().nonnegative(),
  last: z.boolean(),
  /** Never empty: a message's bytes are bounded, and so its parts are. */
  data: bytes.refine((data) => data.byteLength > 0, 'must not be empty'),
});

/**
 * How deep a message may nest: a request body of 100 levels (the API's bound) inside its envelope, and room to spare.
 * @msgpack/msgpack throws past it.
 */
const DEPTH_MAX = 128;

/**
 * Lists, maps and byte strings in one message. They take 50 to 100 bytes of memory each, and as little as one on the wire: a message
 * within its bound could else take gigabytes. What both ends send has far fewer: results, answers and bodies are bounded as JSON text.
 */
const OBJECTS_MAX = 1_000_000;

/** What a message is expected to take beside its rows, and a row beside its body; either may take more. */
const ENCODED_BYTES = 2048;
const ROW_ENVELOPE_BYTES = 96;

/** Room for a part's own envelope within a frame. */
const PART_ENVELOPE_BYTES = 128;

/** A part that is not the last is no smaller: what is held of millions of tiny ones would take far more than their bytes. */
const PART_BYTES_MIN = FRAME_BYTES_MIN - PART_ENVELOPE_BYTES;

/** At most this many messages may be under way in parts at once: one per lane, and one to spare. */
const PARTIAL_MESSAGES_MAX = 3;

/** A message on its way into frames, which are made one by one, each as long as its time allows. */
export interface Framing {
  /** The whole message's length. */
  readonly bytes: number;
  /**
   * The next frame, at most `frameBytes` long (FRAME_BYTES_MIN to FRAME_BYTES_MAX; what is outside is taken as the nearer
   * bound); undefined after the last.
   */
  next(frameBytes: number): Uint8Array | undefined;
}

/** Turns messages into frames. One a session and direction. */
export class FrameWriter<M extends UpMessage | DownMessage> {
  #partedMessages = 0;

  /** The frames that carry `message`, each at most FRAME_BYTES_MAX long. @throws LinkError as `framing` */
  frames(message: M): Uint8Array[] {
    const framing = this.framing(message);
    const frames: Uint8Array[] = [];
    for (let frame = framing.next(FRAME_BYTES_MAX); frame; frame = framing.next(FRAME_BYTES_MAX)) frames.push(frame);
    return frames;
  }

  /**
   * Begins a message; it is encoded now, cut into frames later.
   * @throws LinkError where it is over MESSAGE_BYTES_MAX
   */
  framing(message: M): Framing {
    const initialBufferSize = bytesAbout(message);
    const whole = encode(message, { ignoreUndefined: true, maxDepth: DEPTH_MAX, initialBufferSize });
    if (whole.byteLength > MESSAGE_BYTES_MAX) {
      throw new LinkError(CloseCode.tooBig, `a ${message.kind} message of ${whole.byteLength} bytes is over the bound`);
    }
    let at = 0;
    let index = 0;
    let number = 0;
    return {
      bytes: whole.byteLength,
      next: (frameBytes) => {
        const bytesMax = Math.min(FRAME_BYTES_MAX, Math.max(FRAME_BYTES_MIN, Math.floor(frameBytes)));
        if (at >= whole.byteLength) return undefined;
        if (at === 0 && whole.byteLength <= bytesMax) {
          at = whole.byteLength;
          return whole;
        }
        if (at === 0) {
          this.#partedMessages += 1;
          number = this.#partedMessages;
        }
        const data = whole.subarray(at, at + bytesMax - PART_ENVELOPE_BYTES);
        at += data.byteLength;
        index += 1;
        const envelope = { kind: 'part', message: number, index: index - 1, last: at >= whole.byteLength, data };
        // Without, a buffer is grown to twice of what is needed.
        return encode(envelope, { initialBufferSize: data.byteLength + PART_ENVELOPE_BYTES });
      },
    };
  }
}

/** Turns frames back into messages, each checked against its schema. One a session and direction. */
export class FrameReader<M> {
  readonly #schema: z.ZodType<M>;
  /** Made with the first part: most sessions never get one. */
  #partial: Map<number, { pieces: Uint8Array[]; byteCount: number }> | undefined;
  /** Held of all messages under way: one peer gets the memory of one message, however many it begins. */
  #heldBytes = 0;

  private constructor(schema: z.ZodType<M>) {
    this.#schema = schema;
  }

  /** Reads what agents say. */
  static up(): FrameReader<UpMessage> {
    return new FrameReader<UpMessage>(upMessage);
  }

  /** Reads what the cloud says. */
  static down(): FrameReader<DownMessage> {
    return new FrameReader<DownMessage>(downMessage);
  }

  /**
   * Takes one frame; returns the message it completes, or undefined while parts are missing.
   * @throws LinkError where the frame is no MessagePack, fails its schema, or breaks a bound.
   */
  accept(frame: Uint8Array): M | undefined {
    if (frame.byteLength > FRAME_BYTES_MAX) {
      throw new LinkError(CloseCode.tooBig, `a frame of ${frame.byteLength} bytes; at most ${FRAME_BYTES_MAX}`);
    }
    const batch = this.#batch(frame);
    if (batch) return batch;
    const value = unpack(frame);
    if (!isPart(value)) return this.#check(value);
    const piece = part.safeParse(value);
    if (!piece.success) throw new LinkError(CloseCode.badMessage, `part: ${firstIssue(piece.error)}`);
    const whole = this.#collect(piece.data);
    return whole === undefined ? undefined : (this.#batch(whole) ?? this.#check(unpack(whole)));
  }

  /** Points the short way; undefined where the message has to go the general one. */
  #batch(whole: Uint8Array): M | undefined {
    const split = splitBatch(whole);
    if (!split) return undefined;
    const head = this.#check(unpack(split.head));
    return isBatch(head) ? (joinBatch(head, split.rows) as M) : undefined;
  }

  #collect(piece: z.infer<typeof part>): Uint8Array | undefined {
    this.#partial ??= new Map();
    const known = this.#partial.get(piece.message);
    const held = known ?? { pieces: [], byteCount: 0 };
    if (piece.index !== held.pieces.length) {
      throw new LinkError(CloseCode.badMessage, `part ${piece.index} of a message where ${held.pieces.length} was due`);
    }
    if (!known && this.#partial.size >= PARTIAL_MESSAGES_MAX) {
      throw new LinkError(CloseCode.badMessage, `more than ${PARTIAL_MESSAGES_MAX} messages in parts at once`);
    }
    if (!piece.last && piece.data.byteLength < PART_BYTES_MIN) {
      throw new LinkError(CloseCode.badMessage, `a part of ${piece.data.byteLength} bytes that is not the last`);
    }
    held.pieces.push(piece.data.slice());
    held.byteCount += piece.data.byteLength;
    this.#heldBytes += piece.data.byteLength;
    if (this.#heldBytes > MESSAGE_BYTES_MAX) {
      throw new LinkError(CloseCode.tooBig, `messages in parts over ${MESSAGE_BYTES_MAX} bytes`);
    }
    if (!piece.last) {
      this.#partial.set(piece.message, held);
      return undefined;
    }
    this.#partial.delete(piece.message);
    this.#heldBytes -= held.byteCount;
    const whole = new Uint8Array(held.byteCount);
    let at = 0;
    for (const bytesOfPiece of held.pieces) {
      whole.set(bytesOfPiece, at);
      at += bytesOfPiece.byteLength;
    }
    return whole;
  }

  #check(value: unknown): M {
    const checked = this.#schema.safeParse(value);
    if (checked.success) return checked.data;
    throw new LinkError(CloseCode.badMessage, `${kindOf(value)}: ${firstIssue(checked.error)}`);
  }
}

function unpack(frame: Uint8Array): unknown {
  if (countObjects(frame) > OBJECTS_MAX) {
    throw new LinkError(CloseCode.tooBig, `a message of more than ${OBJECTS_MAX} lists, maps and byte strings`);
  }
  try {
    return decode(frame);
  } catch (cause) {
    throw new LinkError(CloseCode.badMessage, `not MessagePack: ${cause instanceof Error ? cause.message : cause}`);
  }
}

/** Of a message encoded, at most, where it is a large one: else its buffer would be grown, and copied, again and again. */
function bytesAbout(message: UpMessage | DownMessage): number {
  if (message.kind !== 'batch') return ENCODED_BYTES;
  let length = ENCODED_BYTES;
  for (const row of message.rows) length += ROW_ENVELOPE_BYTES + (row.kind === 'point' ? row.cdr.byteLength : 0);
  for (const { text } of message.schemas) length += text.length;
  return length;
}

function isBatch(message: unknown): message is Batch {
  return kindOf(message) === 'batch';
}

function isPart(value: unknown): boolean {
  return kindOf(value) === 'part';
}

function kindOf(value: unknown): string {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return 'a message without kind';
  return String(value.kind).slice(0, 32);
}

function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  return issue ? `${issue.path.join('.') || 'message'}: ${issue.message}` : 'refused';
}
