import { encode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { FrameReader, FrameWriter, LinkError } from './codec.js';
import type { DownMessage } from './down.js';
import { CloseCode, FRAME_BYTES_MAX, FRAME_BYTES_MIN, MESSAGE_BYTES_MAX } from './protocol.js';
import type { UpMessage } from './up.js';

const SPOOL = '0194b6b0-3b1a-7cc0-8d7f-0123456789ab';

function batchOf(cdrBytes: number, firstSeq = 1): UpMessage {
  return {
    kind: 'batch',
    spool_id: SPOOL,
    lane: 'live',
    first_seq: firstSeq,
    clock: null,
    schemas: [],
    channels: [{ source: '/scan', type: 'sensor_msgs/msg/LaserScan', schema_hash: 'a'.repeat(64), publisher: null }],
    rows: [{ kind: 'point', channel: 0, robot_stamp_ms: 1, cdr: new Uint8Array(cdrBytes).fill(7) }],
  };
}

function commandOf(payload: Record<string, unknown>): DownMessage {
  return {
    kind: 'command',
    uuid: SPOOL,
    interface: 'topic',
    name: '/cmd_vel',
    type: 'geometry_msgs/msg/Twist',
    payload,
    deadline_cloud_ms: 5,
    life_ms: 5,
    timeout_ms: 10,
    latched: false,
  };
}

function read<M>(reader: FrameReader<M>, frames: Uint8Array[]): M[] {
  return frames.map((frame) => reader.accept(frame)).filter((message) => message !== undefined);
}

function refusal(act: () => unknown): LinkError {
  try {
    act();
  } catch (error) {
    if (error instanceof LinkError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('the link codec', () => {
  it('carries a small message in one frame, as it was', () => {
    const message = commandOf({ linear: { x: 0.1 }, big: '9007199254740993' });
    const frames = new FrameWriter<DownMessage>().frames(message);
    expect(frames).toHaveLength(1);
    expect(read(FrameReader.down(), frames)).toEqual([message]);
  });

  it('refuses a part without data, of which there could be any number', () => {
    const frame = encode({ kind: 'part', message: 1, index: 0, last: false, data: new Uint8Array(0) });
    expect(refusal(() => FrameReader.up().accept(frame)).closeCode).toBe(CloseCode.badMessage);
  });

  it('cuts a large message into frames under the bound and puts it together again', () => {
    const message = batchOf(200_000);
    const frames = new FrameWriter<UpMessage>().frames(message);
    expect(frames.length).toBeGreaterThan(12);
    expect(Math.max(...frames.map((frame) => frame.byteLength))).toBeLessThanOrEqual(FRAME_BYTES_MAX);
    expect(read(FrameReader.up(), frames)).toEqual([message]);
  });

  it('cuts a message as short as each frame may be, and puts it together again', () => {
    const message = batchOf(100_000);
    const framing = new FrameWriter<UpMessage>().framing(message);
    const wanted = [2_000, FRAME_BYTES_MAX * 2, 5_000.5, 0];
    const frames: Uint8Array[] = [];
    for (let n = 0; ; n += 1) {
      const frame = framing.next(wanted[n % wanted.length] ?? 0);
      if (!frame) break;
      frames.push(frame);
      const allowed = Math.min(FRAME_BYTES_MAX, Math.max(FRAME_BYTES_MIN, wanted[n % wanted.length] ?? 0));
      expect(frame.byteLength).toBeLessThanOrEqual(allowed);
    }
    expect(frames.length).toBeGreaterThan(10);
    expect(read(FrameReader.up(), frames)).toEqual([message]);
  });

  it('refuses tiny parts, of which a message within its bound could have millions', () => {
    const frame = encode({ kind: 'part', message: 1, index: 0, last: false, data: new Uint8Array(100) });
    expect(refusal(() => FrameReader.up().accept(frame)).closeCode).toBe(CloseCode.badMessage);
  });

  it('refuses a message of more lists and maps than it has memory for', () => {
    const reader = FrameReader.up();
    const whole = new Uint8Array(1_000_010).fill(0x80);
    const parts = Math.ceil(whole.byteLength / 16_000);
    const send = () => {
      for (let index = 0; index < parts; index += 1) {
        const data = whole.subarray(index * 16_000, (index + 1) * 16_000);
        reader.accept(encode({ kind: 'part', message: 1, index, last: index === parts - 1, data }));
      }
    };
    expect(refusal(send).closeCode).toBe(CloseCode.tooBig);
  });

  it('lets other messages, whole and in parts, come between the parts of one', () => {
    const writer = new FrameWriter<UpMessage>();
    const first = batchOf(50_000, 1);
    const second = batchOf(40_000, 2);
    const between: UpMessage = { kind: 'applied', revision: 3 };
    const [a, b] = [writer.frames(first), writer.frames(second)];
    const woven = [a[0], b[0], ...writer.frames(between), ...a.slice(1), ...b.slice(1)].filter((f) => f !== undefined);
    expect(read(FrameReader.up(), woven)).toEqual([between, first, second]);
  });

  it('carries a payload as deep as the API accepts', () => {
    let payload: Record<string, unknown> = {};
    for (let depth = 0; depth < 98; depth += 1) payload = { inner: payload };
    const message = commandOf(payload);
    expect(read(FrameReader.down(), new FrameWriter<DownMessage>().frames(message))).toEqual([message]);
  });

  it('refuses what is no MessagePack, what has no kind, and what its schema does not know', () => {
    const reader = FrameReader.up();
    expect(refusal(() => reader.accept(new Uint8Array([0xc1])))).toMatchObject({ closeCode: CloseCode.badMessage });
    expect(refusal(() => reader.accept(encode(null))).message).toContain('without kind');
    expect(refusal(() => reader.accept(encode({ kind: 'dance' }))).message).toContain('dance');
    expect(refusal(() => reader.accept(encode({ kind: 'applied', revision: 'x' }))).message).toContain('revision');
  });

  it.each([
    ['batch', 'rows', { spool_id: SPOOL, lane: 'live', first_seq: 1, clock: null, schemas: [], channels: [] }],
    ['batch', 'channels', { spool_id: SPOOL, lane: 'live', first_seq: 1, clock: null, schemas: [], rows: [] }],
    ['stream_status', 'streams', {}],
  ])('refuses a %s of far too many %s for their number, not for each of them', (kind, field, rest) => {
    const message = { kind, ...rest, [field]: new Array(10_000).fill(0) };
    expect(refusal(() => FrameReader.up().accept(encode(message))).message).toContain(`${field}: must be a list of at`);
  });

  it('refuses a frame over the bound', () => {
    const error = refusal(() => FrameReader.up().accept(new Uint8Array(FRAME_BYTES_MAX + 1)));
    expect(error.closeCode).toBe(CloseCode.tooBig);
  });

  it('refuses a part out of order and more messages in parts than its bound', () => {
    const frames = new FrameWriter<UpMessage>().frames(batchOf(50_000));
    expect(refusal(() => read(FrameReader.up(), frames.slice(1))).message).toContain('where 0 was due');
    const reader = FrameReader.up();
    const part = (message: number) =>
      encode({ kind: 'part', message, index: 0, last: false, data: new Uint8Array(FRAME_BYTES_MIN) });
    for (let message = 1; message <= 3; message += 1) reader.accept(part(message));
    expect(refusal(() => reader.accept(part(4))).message).toContain('at once');
  });

  it('gives unfinished messages together no more memory than one message', () => {
    const reader = FrameReader.up();
    const data = new Uint8Array(FRAME_BYTES_MAX - 128);
    let heldBytes = 0;
    const fill = () => {
      for (let index = 0; ; index += 1) {
        for (const message of [1, 2]) {
          reader.accept(encode({ kind: 'part', message, index, last: false, data }));
          heldBytes += data.byteLength;
        }
      }
    };
    expect(refusal(fill)).toMatchObject({ closeCode: CloseCode.tooBig });
    expect(heldBytes).toBeLessThanOrEqual(MESSAGE_BYTES_MAX);
  });

  it('has the memory back once a message is whole', () => {
    const reader = FrameReader.up();
    const writer = new FrameWriter<UpMessage>();
    for (let round = 0; round < 4; round += 1) {
      const [message] = read(reader, writer.frames(batchOf(8_000_000)));
      expect(message?.kind).toBe('batch');
    }
  });
});
