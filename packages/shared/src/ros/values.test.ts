import { MessageReader } from '@foxglove/rosmsg2-serialization';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryMessage } from './arbitrary.fixture.js';
import { CdrError, decodeCdr, encodeCdr } from './cdr.js';
import { commonDefinitions } from './common.js';
import { loadInterface, type MessageSchema } from './definitions.js';
import { fromJson, PayloadError } from './from-json.js';
import { toJson } from './to-json.js';

/** What holds for every value of every type, by random ones. */

const TYPES = [
  'test_msgs/msg/BasicTypes',
  'test_msgs/msg/Arrays',
  'test_msgs/msg/BoundedSequences',
  'test_msgs/msg/BoundedPlainSequences',
  'test_msgs/msg/UnboundedSequences',
  'test_msgs/msg/MultiNested',
  'test_msgs/msg/Nested',
  'test_msgs/msg/Strings',
  'test_msgs/msg/WStrings',
  'test_msgs/msg/Defaults',
  'test_msgs/msg/Constants',
  'test_msgs/msg/Builtins',
  'test_msgs/msg/Empty',
  'nav_msgs/msg/Odometry',
  'sensor_msgs/msg/PointCloud2',
  'visualization_msgs/msg/InteractiveMarkerUpdate',
];

async function message(type: string): Promise<MessageSchema> {
  const definition = await loadInterface(type, commonDefinitions);
  if (definition.kind !== 'msg') throw new TypeError(`${type} is no message`);
  return definition.message;
}

/** Fewer of the huge ones. */
const runs = (type: string) => ({ numRuns: /MultiNested|Interactive/.test(type) ? 25 : 100 });

describe.each(TYPES)('%s', (type) => {
  it('comes back from CDR as it went', async () => {
    const schema = await message(type);
    fc.assert(
      fc.property(arbitraryMessage(schema), (value) => {
        expect(decodeCdr(schema, encodeCdr(schema, value))).toEqual(value);
      }),
      runs(type),
    );
  });

  it('comes back from JSON text as it went, but for the sign of a zero, which JSON text loses', async () => {
    const schema = await message(type);
    const unsigned = (key: unknown) => JSON.parse(JSON.stringify(key));
    fc.assert(
      fc.property(arbitraryMessage(schema), (value) => {
        expect(fromJson(schema, toJson(schema, value), 'payload')).toEqual(value);
        const text = JSON.stringify(toJson(schema, value));
        expect(unsigned(toJson(schema, fromJson(schema, JSON.parse(text), 'payload')))).toEqual(JSON.parse(text));
      }),
      runs(type),
    );
  });

  // It knows no wide strings: those are held against rclpy’s bytes by the agent’s values.ros.test.ts.
  if (type === 'test_msgs/msg/WStrings') return;
  it('is read by another implementation as it was written', async () => {
    const schema = await message(type);
    // It takes a dependency for the message where a type has constants only, and has no such field to compare.
    const definitions = schema.definitions.map((definition) => ({
      ...definition,
      definitions: definition.definitions.filter((field) => field.isConstant !== true),
    }));
    const reader = new MessageReader(definitions);
    fc.assert(
      fc.property(arbitraryMessage(schema), (value) => {
        const cdr = encodeCdr(schema, value);
        const read = reader.readMessage(cdr);
        expect(withoutByteOrderMarks(read)).toEqual(withoutByteOrderMarks(value));
        // The longest padding before a last element is 7 bytes: it must have read to the end.
        expect(reader.lastReadByteLength()).toBe(cdr.byteLength);
      }),
      runs(type),
    );
  });

  it('refuses any other JSON with a PayloadError and nothing else', async () => {
    const schema = await message(type);
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), fc.jsonValue(), (whole, name, part) => {
        for (const json of [whole, { [name]: part }, withOneField(schema, name.length, part)]) {
          try {
            const value = fromJson(schema, json, 'payload');
            expect(decodeCdr(schema, encodeCdr(schema, value))).toEqual(value);
          } catch (error) {
            expect(error).toBeInstanceOf(PayloadError);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  it('answers cut, changed and random bytes with a value or a CdrError and nothing else', async () => {
    const schema = await message(type);
    const changes = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 4 });
    fc.assert(
      fc.property(arbitraryMessage(schema), changes, fc.nat(), (value, edits, cut) => {
        const cdr = encodeCdr(schema, value);
        for (const [at, byte] of edits) cdr[at % cdr.length] = byte;
        for (const bytes of [cdr, cdr.subarray(0, cut % (cdr.length + 1))]) {
          try {
            toJson(schema, decodeCdr(schema, bytes));
          } catch (error) {
            expect(error).toBeInstanceOf(CdrError);
          }
        }
      }),
      runs(type),
    );
  });
});

function withOneField(schema: MessageSchema, index: number, value: unknown): Record<string, unknown> {
  const fields = schema.definitions[0]?.definitions ?? [];
  const field = fields[index % Math.max(1, fields.length)];
  return field ? { [field.name]: value } : {};
}

/** The other implementation drops a byte order mark at a string's beginning. */
function withoutByteOrderMarks(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/^\uFEFF/, '');
  if (Array.isArray(value)) return value.map(withoutByteOrderMarks);
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutByteOrderMarks(inner)]));
}
