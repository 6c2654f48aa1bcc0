import { decode, encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Batch, DataRow } from './batch.js';
import { splitBatch } from './batch-reader.js';
import { FrameReader, LinkError } from './codec.js';
import { type UpMessage, upMessage } from './up.js';

function batchOf(rows: DataRow[]): Batch {
  return {
    kind: 'batch',
    spool_id: '0194b6b0-3b1a-7cc0-8d7f-0123456789ab',
    lane: 'live',
    first_seq: 7,
    clock: { offset_ms: 0.25, uncertainty_ms: 1 },
    schemas: [{ hash: 'b'.repeat(64), type: 'std_msgs/msg/String', text: 'string data\n' }],
    channels: [{ source: '/chat', type: 'std_msgs/msg/String', schema_hash: 'b'.repeat(64), publisher: null }],
    rows,
  };
}

function point(cdrBytes: number, channel = 0, stampMs = 1_790_000_000_000.5): DataRow {
  return { kind: 'point', channel, robot_stamp_ms: stampMs, cdr: new Uint8Array(cdrBytes).fill(7) };
}

/** What the general way makes of it; undefined where it refuses. */
function generally(whole: Uint8Array): UpMessage | undefined {
  try {
    return upMessage.safeParse(decode(whole)).data;
  } catch {
    return undefined;
  }
}

function accepted(whole: Uint8Array): UpMessage | undefined {
  try {
    return FrameReader.up().accept(whole);
  } catch (error) {
    if (error instanceof LinkError) return undefined;
    throw error;
  }
}

const points = fc.array(
  fc.record({
    kind: fc.constant('point' as const),
    channel: fc.nat(255),
    robot_stamp_ms: fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer({ min: 2 ** 32, max: Number.MAX_SAFE_INTEGER }),
    ),
    cdr: fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ minLength: 256, maxLength: 300 })),
  }),
  { minLength: 2, maxLength: 20 },
);

describe('the short way to read a batch', () => {
  it('is taken by points as agents write them, and yields what the general way does', () => {
    fc.assert(
      fc.property(points, (rows) => {
        // A whole number below 2^32 is written shorter, and goes the general way: no clock since 1970 shows one.
        fc.pre(rows.every(({ robot_stamp_ms: stampMs }) => !Number.isInteger(stampMs) || stampMs >= 2 ** 32));
        const whole = encode(batchOf(rows as DataRow[]));
        expect(splitBatch(whole)?.rows).toHaveLength(rows.length - 1);
        expect(accepted(whole)).toEqual(generally(whole));
      }),
    );
  });

  it('accepts, refuses and reads what was garbled or cut off as the general way does', () => {
    const change = fc.record({ at: fc.nat(), byte: fc.nat(255), cut: fc.option(fc.nat()) });
    fc.assert(
      fc.property(points, change, (rows, { at, byte, cut }) => {
        const whole = encode(batchOf(rows as DataRow[]));
        whole[at % whole.byteLength] = byte;
        const text = cut === null ? whole : whole.subarray(0, 1 + (cut % whole.byteLength));
        expect(accepted(text)).toEqual(generally(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('copies nothing of a point: its bytes are where they came, and what is decoded anew is the first row alone', () => {
    const whole = encode(batchOf(Array.from({ length: 50 }, () => point(150))));
    const split = splitBatch(whole);
    for (const { cdr } of split?.rows ?? []) expect(cdr.buffer).toBe(whole.buffer);
    expect(split?.head.byteLength).toBeLessThan(whole.byteLength / 10);
  });

  it.each<[string, DataRow[]]>([
    ['a single row', [point(1)]],
    ['vitals among them', [point(1), { kind: 'vital', robot_stamp_ms: 1, cpu: 1, ram: 2, disk: 3, battery: -1 }]],
    ['rows that are gone', [point(1), { kind: 'gone' }, point(1)]],
    ['a stamp that is a small number', [point(1), point(1, 0, 5)]],
    ['a channel of a great number', [point(1), point(1, 256)]],
  ])('is left to the general way: %s', (_name, rows) => {
    const whole = encode(batchOf(rows));
    expect(splitBatch(whole)).toBeUndefined();
    expect(accepted(whole)).toEqual(batchOf(rows));
  });

  it('refuses more rows than a batch may have, and a stamp that is no number, as ever', () => {
    expect(accepted(encode(batchOf(Array.from({ length: 2001 }, () => point(0)))))).toBeUndefined();
    expect(accepted(encode(batchOf([point(0), point(0, 0, Number.NaN)])))).toBeUndefined();
    expect(accepted(encode(batchOf([point(0), point(0, 0, Number.POSITIVE_INFINITY)])))).toBeUndefined();
  });
});
