import { expect, it } from 'vitest';
import { parseSchema } from './definitions.js';
import { fromJson } from './from-json.js';
import { toJson } from './to-json.js';
import type { RosValue } from './values.js';

it.each<[string, RosValue, unknown]>([
  ['int64', 2n ** 53n - 1n, 9007199254740991],
  ['int64', 2n ** 53n, '9007199254740992'],
  ['int64', -(2n ** 63n), '-9223372036854775808'],
  ['uint64[]', new BigUint64Array([1n, 2n ** 64n - 1n]), [1, '18446744073709551615']],
  ['float64', Number.NaN, 'NaN'],
  ['float32[]', new Float32Array([1.5, Number.NEGATIVE_INFINITY]), [1.5, '-Infinity']],
  ['uint8[]', new Uint8Array([0, 1, 2]), 'AAEC'],
  ['byte[2]', new Uint8Array([255, 0]), '/wA='],
  ['char[]', new Uint8Array([]), ''],
  ['uint8', 7, 7],
  ['int8[]', new Int8Array([-1]), [-1]],
  ['uint16[2]', new Uint16Array([1, 2]), [1, 2]],
  ['bool[]', [true], [true]],
  ['string[]', ['ä'], ['ä']],
  ['builtin_interfaces/Time', { sec: 1, nanosec: 5 }, { sec: 1, nanosec: 5 }],
])('%s %s is written as JSON keeps it', (type, value, json) => {
  const schema = parseSchema('test_pkg/msg/Inline', `${type} v`);
  expect(toJson(schema, { v: value })).toEqual({ v: json });
  expect(fromJson(schema, { v: json }, 'payload')).toEqual({ v: value });
});

it('writes only the view of a larger buffer', () => {
  const schema = parseSchema('test_pkg/msg/Inline', 'uint8[] v');
  const view = new Uint8Array([9, 9, 1, 2, 9]).subarray(2, 4);
  expect(toJson(schema, { v: view })).toEqual({ v: 'AQI=' });
});
