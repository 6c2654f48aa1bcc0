import { describe, expect, it } from 'vitest';
import { commonDefinitions } from './common.js';
import { loadInterface, type MessageSchema, parseSchema } from './definitions.js';
import { fromJson, PayloadError } from './from-json.js';
import { PAYLOAD_ISSUES_MAX } from './payload-error.js';

async function message(type: string): Promise<MessageSchema> {
  const definition = await loadInterface(type, commonDefinitions);
  if (definition.kind !== 'msg') throw new TypeError(`${type} is no message`);
  return definition.message;
}

const inline = (text: string) => parseSchema('test_pkg/msg/Inline', text);

/** The error's text for a value that does not fit. */
function refusal(schema: MessageSchema, json: unknown): string {
  try {
    fromJson(schema, json, 'payload');
  } catch (error) {
    if (error instanceof PayloadError) return error.message;
    throw error;
  }
  return 'nothing';
}

describe('absent and unknown fields', () => {
  it('gives absent fields the defaults of the type', async () => {
    expect(fromJson(await message('geometry_msgs/msg/Pose'), { position: { y: 2 } }, 'payload')).toEqual({
      position: { x: 0, y: 2, z: 0 },
      orientation: { x: 0, y: 0, z: 0, w: 1 },
    });
    expect(fromJson(await message('test_msgs/msg/Defaults'), {}, 'payload')).toMatchObject({
      bool_value: true,
      float32_value: 1.125,
      int64_value: -40000000n,
    });
    expect(fromJson(await message('test_msgs/msg/Arrays'), {}, 'payload')).toMatchObject({
      string_values: ['', '', ''],
      uint64_values_default: new BigUint64Array([0n, 1n, 2n ** 64n - 1n]),
      string_values_default: ['', 'max value', 'min value'],
    });
  });

  it('names an unknown field and the one that was most likely meant', async () => {
    expect(refusal(await message('geometry_msgs/msg/Twist'), { linaer: { x: 1 } })).toBe(
      'payload.linaer: expected a field of geometry_msgs/Twist (linear, angular; did you mean linear?), got an unknown field',
    );
    expect(refusal(await message('test_msgs/msg/Empty'), { x: 1 })).toContain('(no fields)');
  });

  it('takes no field from the prototype and keeps hostile keys harmless', async () => {
    const schema = inline('string constructor\nint32 value');
    expect(fromJson(schema, {}, 'payload')).toEqual({ constructor: '', value: 0 });
    expect(refusal(schema, JSON.parse('{"__proto__": {"value": 5}}'))).toContain('payload.__proto__: expected a field');
    expect(({} as Record<string, unknown>).value).toBeUndefined();
  });
});

describe('each kind of field', () => {
  it.each([
    ['float64', 'fast', 'expected a number, got "fast"'],
    ['float64', '1.5', 'expected a number, got "1.5"'],
    ['float64', null, 'expected a number, got null'],
    ['float64', true, 'expected a number, got true'],
    ['float32', 1e39, 'expected a number within ±3.4028235e38, got 1e+39'],
    ['int8', 128, 'expected a whole number from -128 to 127, got 128'],
    ['uint8', -1, 'expected a whole number from 0 to 255, got -1'],
    ['byte', 256, 'expected a whole number from 0 to 255, got 256'],
    ['char', 'a', 'expected a whole number from 0 to 255, got "a"'],
    ['int32', 1.7, 'expected a whole number from -2147483648 to 2147483647, got 1.7'],
    ['int32', Number.NaN, 'expected a whole number from -2147483648 to 2147483647, got NaN'],
    ['int64', '9223372036854775808', 'from -9223372036854775808 to 9223372036854775807, got "9223372036854775808"'],
    ['uint64', '-1', 'expected a whole number from 0 to 18446744073709551615, got "-1"'],
    ['uint64', 2 ** 53, 'as strings, since JSON numbers are not exact there, got 9007199254740992'],
    ['int64', '5n', 'expected a whole number from'],
    ['bool', 'false', 'expected true or false, got "false"'],
    ['bool', 0, 'expected true or false, got 0'],
    ['string', 5, 'expected a string, got 5'],
    ['string', 'a\0b', 'expected a string without NUL characters'],
    ['string', '\ud800', 'expected a string of whole Unicode characters'],
    ['wstring', '\ud800', 'expected a string of whole Unicode characters'],
    ['wstring<=2', 'abc', 'expected a string of at most 2 characters, got one of 3'],
    ['string<=3', 'äö', 'expected a string of at most 3 bytes, got one of 4'],
    ['int32[2]', [1], 'expected a list of 2 values, got one of 1'],
    ['int32[<=2]', [1, 2, 3], 'expected a list of at most 2 values, got one of 3'],
    ['int32[]', 'AAEC', 'expected a list, got "AAEC"'],
    ['int32[]', [1, null], 'payload.v[1]: expected a whole number from -2147483648 to 2147483647, got null'],
    ['uint8[]', '%', 'expected base64 or a list of numbers, got "%"'],
    ['uint8[]', 'AAE=A', 'expected base64 or a list of numbers, got "AAE=A"'],
    ['byte[2]', 'AAEC', 'expected a list of 2 bytes, got one of 3'],
    ['geometry_msgs/Point', [1, 2, 3], 'expected an object (geometry_msgs/Point), got a list of 3'],
    ['geometry_msgs/Point[]', [{}, { x: '1' }], 'payload.v[1].x: expected a number, got "1"'],
    ['builtin_interfaces/Time', { sec: 1, nsec: 2 }, 'payload.v.nsec: expected a field of builtin_interfaces/Time'],
    ['builtin_interfaces/Time', 12.5, 'expected an object (builtin_interfaces/Time), got 12.5'],
    ['builtin_interfaces/Duration', { sec: 2 ** 31 }, 'payload.v.sec: expected a whole number'],
  ])('%s refuses %o', (type, value, words) => {
    const point = `\n${'='.repeat(80)}\nMSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z`;
    expect(refusal(inline(`${type} v${point}`), { v: value })).toContain(words);
  });

  it.each([
    ['float64', 'NaN', Number.NaN],
    ['float32', '-Infinity', Number.NEGATIVE_INFINITY],
    ['float32', 0.1, Math.fround(0.1)],
    ['int32', -0, 0],
    ['int64', 5, 5n],
    ['int64', '-9223372036854775808', -(2n ** 63n)],
    ['uint64', '18446744073709551615', 2n ** 64n - 1n],
    ['uint64', 7n, 7n],
    ['uint8[]', 'AAEC', new Uint8Array([0, 1, 2])],
    ['char[]', 'AAE', new Uint8Array([0, 1])],
    ['byte[3]', [0, 1, 255], new Uint8Array([0, 1, 255])],
    ['int8[]', [-1, 1], new Int8Array([-1, 1])],
    ['int64[]', [1, '9223372036854775807'], new BigInt64Array([1n, 2n ** 63n - 1n])],
    ['float32[]', [1, 'NaN'], new Float32Array([1, Number.NaN])],
    ['bool[2]', [true, false], [true, false]],
    ['string<=4', 'äö', 'äö'],
    ['wstring<=2', 'äö', 'äö'],
    ['wstring', 'a\0b', 'a\0b'],
    ['builtin_interfaces/Time', { sec: 1, nanosec: 2 }, { sec: 1, nanosec: 2 }],
    ['builtin_interfaces/Duration', { sec: -1 }, { sec: -1, nanosec: 0 }],
    ['float64[]', new Float64Array([1, 2]), new Float64Array([1, 2])],
  ])('%s takes %o', (type, value, result) => {
    expect(fromJson(inline(`${type} v`), { v: value }, 'payload')).toEqual({ v: result });
  });
});

describe('bounds', () => {
  it('tells all issues at once, up to a number', async () => {
    expect(refusal(await message('geometry_msgs/msg/Twist'), { linear: { x: 'a' }, angular: { z: null } })).toBe(
      'payload.linear.x: expected a number, got "a"; payload.angular.z: expected a number, got null',
    );
    const text = refusal(inline('int32[] v'), { v: Array.from({ length: 100_000 }, () => 'x') });
    expect(text.split('; ')).toHaveLength(PAYLOAD_ISSUES_MAX + 1);
    expect(text.endsWith('; and more')).toBe(true);
  });

  it('refuses a small payload whose defaults would fill the memory', () => {
    const schema = parseSchema(
      'test_pkg/msg/Bomb',
      `Big[] bigs\n${'='.repeat(80)}\nMSG: test_pkg/Big\nuint8[1000000] data`,
    );
    const text = refusal(schema, { bigs: Array.from({ length: 300_000 }, () => ({})) });
    expect(text).toContain('payload.bigs: expected a message of at most');
  });

  it('keeps errors short whatever the value is', async () => {
    const schema = await message('std_msgs/msg/Float64');
    expect(refusal(schema, { data: 'x'.repeat(1_000_000) }).length).toBeLessThan(200);
    expect(refusal(schema, { ['x'.repeat(1_000_000)]: 1 }).length).toBeLessThan(300);
    let deep: unknown = 1;
    for (let index = 0; index < 100_000; index += 1) deep = [deep];
    expect(refusal(schema, { data: deep })).toBe('payload.data: expected a number, got a list of 1');
  });
});
