import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryMessage } from './arbitrary.fixture.js';
import { commonDefinitions, commonTypes } from './common.js';
import { type InterfaceDefinition, loadInterface, type MessageSchema, parseSchema } from './definitions.js';
import { exampleOf } from './example.js';
import { FIELD_TREE_MAX, type FieldTree, fieldTreeOf } from './field-tree.js';
import { fromJson } from './from-json.js';
import { jsonSchemaOf } from './json-schema.js';
import { toJson } from './to-json.js';

/** Example, field tree and JSON Schema of every type there is, held against what the value rules really take. */

async function messagesOf(type: string): Promise<MessageSchema[]> {
  const definition: InterfaceDefinition = await loadInterface(type, commonDefinitions);
  switch (definition.kind) {
    case 'msg':
      return [definition.message];
    case 'srv':
      return [definition.request, definition.response];
    case 'action':
      return [definition.goal, definition.result, definition.feedback];
  }
}

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
const validator = (schema: MessageSchema): ValidateFunction => ajv.compile(jsonSchemaOf(schema));
const schemas = (await Promise.all(commonTypes().map(messagesOf))).flat();
const named = (text: string) => parseSchema('a_msgs/msg/A', text);

describe('of every common type', () => {
  it('the example is taken by the value rules, means the defaults, and fits the JSON Schema', () => {
    for (const schema of schemas) {
      const example = exampleOf(schema);
      expect(fromJson(schema, example, 'example'), schema.type).toEqual(fromJson(schema, {}, 'example'));
      const validate = validator(schema);
      expect([schema.type, validate(example), validate.errors]).toEqual([schema.type, true, null]);
    }
  });

  it('whatever a message of it holds, its JSON fits the JSON Schema', () => {
    for (const schema of schemas) {
      const validate = validator(schema);
      const check = fc.property(arbitraryMessage(schema), (message) => {
        const json: unknown = JSON.parse(JSON.stringify(toJson(schema, message)));
        if (!validate(json)) throw new Error(`${schema.type}: ${JSON.stringify(validate.errors)}`);
      });
      fc.assert(check, { numRuns: 5 });
    }
  });

  it('the field tree has the fields of the example', () => {
    const shape = (value: unknown): unknown =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, shape(entry)]))
        : null;
    const treeShape = (fields: readonly FieldTree[]): unknown =>
      Object.fromEntries(
        fields.map(({ name, array, fields: inner }) => [name, array === null && inner ? treeShape(inner) : null]),
      );
    for (const schema of schemas) {
      const example = exampleOf(schema);
      if (Object.keys(example).length > 0) expect(treeShape(fieldTreeOf(schema)), schema.type).toEqual(shape(example));
    }
  });
});

describe('the JSON Schema', () => {
  const schema = named(
    'int8 small\nint64 wide\nuint64 count\nfloat32 ratio\nfloat64 x\nstring<=3 word\nbool flag\nuint8[3] three\n' +
      'uint8[<=2] two\nint16[2] pair\nb_msgs/B[<=1] inner\n' +
      `${'='.repeat(80)}\nMSG: b_msgs/B\nint32 y 7\n`,
  );
  const validate = validator(schema);

  it.each([
    { small: 200 },
    { small: '1' },
    { small: 1.5 },
    { wide: 2 ** 53 },
    { wide: 'many' },
    { count: -1 },
    { count: '-5' },
    { ratio: 1e39 },
    { x: 'fast' },
    { x: null },
    { word: 'four' },
    { word: 'a\0' },
    { flag: 1 },
    { three: 'AAE' },
    { three: [1, 2] },
    { two: 'AAECAwQF' },
    { two: [1, 2, 3] },
    { two: [300, 1] },
    { pair: [1] },
    { inner: [{}, {}] },
    { inner: [{ z: 1 }] },
    { more: 1 },
  ])('refuses %j, as the value rules do', (json) => {
    expect(() => fromJson(schema, json, 'payload')).toThrow();
    expect(validate(json)).toBe(false);
  });

  it.each([
    { wide: '9223372036854775807', count: '18446744073709551615' },
    { wide: -5, count: '-0' },
    { ratio: 'NaN', x: '-Infinity' },
    { ratio: 3.4028235e38 },
    { word: 'öb' },
    { three: 'AAEC', two: 'AA' },
    { three: [0, 1, 2], two: [] },
    { pair: [-1, 1], inner: [{}] },
    {},
  ])('takes %j, as the value rules do', (json) => {
    expect(() => fromJson(schema, json, 'payload')).not.toThrow();
    expect(validate(json)).toBe(true);
  });

  it('has each contained message once, however often it is contained', () => {
    const text = `b_msgs/B one\nb_msgs/B[] many\n${'='.repeat(80)}\nMSG: b_msgs/B\nint32 y\n`;
    expect(jsonSchemaOf(named(text))).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: 'a_msgs/msg/A',
      properties: { one: { $ref: '#/$defs/b_msgs.B' }, many: { items: { $ref: '#/$defs/b_msgs.B' } } },
      $defs: { 'b_msgs.B': { type: 'object', properties: { y: { type: 'integer' } }, additionalProperties: false } },
    });
  });
});

describe('the field tree', () => {
  it('tells type, array, bounds and stated defaults of each field, and what is within', () => {
    const text =
      'float64 x 1.5\nint64[<=3] wide [9007199254740993, 2]\nstring<=5 word "hi"\nb_msgs/B[2] inner\nuint8[] data\n' +
      `${'='.repeat(80)}\nMSG: b_msgs/B\nint32 y 7\nbuiltin_interfaces/Time t\n` +
      `${'='.repeat(80)}\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n`;
    const plain = { array: null, string_length_max: null, default: null, fields: null };
    expect(fieldTreeOf(named(text))).toEqual([
      { ...plain, name: 'x', type: 'float64', default: 1.5 },
      {
        ...plain,
        name: 'wide',
        type: 'int64',
        array: { length: null, length_max: 3 },
        default: ['9007199254740993', 2],
      },
      { ...plain, name: 'word', type: 'string', string_length_max: 5, default: 'hi' },
      {
        ...plain,
        name: 'inner',
        type: 'b_msgs/msg/B',
        array: { length: 2, length_max: null },
        fields: [
          { ...plain, name: 'y', type: 'int32', default: 7 },
          {
            ...plain,
            name: 't',
            type: 'builtin_interfaces/msg/Time',
            fields: [
              { ...plain, name: 'sec', type: 'int32' },
              { ...plain, name: 'nanosec', type: 'uint32' },
            ],
          },
        ],
      },
      { ...plain, name: 'data', type: 'uint8', array: { length: null, length_max: null } },
    ]);
  });

  it('and the example stay small for a type that contains itself, so to speak, a thousand times a thousand times', () => {
    const level = (n: number) =>
      `${'='.repeat(80)}\nMSG: b_msgs/L${n}\n` +
      Array.from({ length: 10 }, (_, index) => (n < 12 ? `b_msgs/L${n + 1}[] f${index}` : `int32 f${index}`)).join(
        '\n',
      );
    const text = `b_msgs/L1 top\n${Array.from({ length: 12 }, (_, index) => level(index + 1)).join('\n')}\n`;
    const schema = named(text);
    const count = (fields: readonly FieldTree[]): number =>
      fields.reduce((sum, field) => sum + 1 + count(field.fields ?? []), 0);
    expect(count(fieldTreeOf(schema))).toBeLessThanOrEqual(FIELD_TREE_MAX);
    expect(JSON.stringify(jsonSchemaOf(schema)).length).toBeLessThan(20_000);
    expect(exampleOf(named('uint8[1000000] image\n'))).toEqual({});
  });

  it('takes a stated default for itself, however much stands beside it, in as many types as may be', () => {
    const separator = `${'='.repeat(80)}\nMSG: a_msgs/`;
    const types = Array.from({ length: 400 }, (_, n) => `T${n}`);
    const fields = fieldTreeOf(
      named(
        [
          types.map((type, n) => `${type}[] t${n}\n`).join(''),
          ...types.map((type) => `${separator}${type}\nint32 a 7\nRow[100] rows\n`),
          `${separator}Row\nCell[1000] cells\n${separator}Cell\nint8 x\n`,
        ].join(''),
      ),
    );
    expect(fields[399]?.fields?.[0]).toMatchObject({ name: 'a', default: 7 });
  });
});
