import { readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RclpyPeer } from '../packages/agent/src/ros/testing/rclpy-peer.js';
import { describeRos } from '../packages/agent/src/ros/testing/ros.js';
import type { TestCloud } from './support/cloud.js';
import { type OnRos, startOnRos } from './support/on-ros.js';
import { storedCdr } from './support/stored.js';

const ROS_DOMAIN_ID = 28;
/** Random messages of each type beside those below. The same ones at every run: other values are values.ros.test.ts's. */
const RANDOM = { seed: 4, count: 3 };

type Payload = Record<string, unknown>;

const LEAST = { int8_value: -128, int16_value: -32768, int32_value: -2147483648, int64_value: '-9223372036854775808' };
const MOST = {
  int8_value: 127,
  uint8_value: 255,
  int16_value: 32767,
  uint16_value: 65535,
  int32_value: 2147483647,
  uint32_value: 4294967295,
  int64_value: '9223372036854775807',
  uint64_value: '18446744073709551615',
};
const BASIC: Payload[] = [
  {},
  { bool_value: true, byte_value: 255, char_value: 200, ...MOST },
  { ...LEAST, byte_value: 128, char_value: 128, float32_value: 'NaN', float64_value: 'NaN' },
  {
    float32_value: 'Infinity',
    float64_value: '-Infinity',
    int64_value: 9007199254740991,
    uint64_value: '9007199254740992',
  },
  { float32_value: 1.401298464324817e-45, float64_value: 5e-324, int64_value: '9007199254740993' },
  { float32_value: 3.4028234663852886e38, float64_value: 1.7976931348623157e308, int64_value: '-9007199254740993' },
];
const THREE = {
  bool_values: [true, false, true],
  byte_values: 'AID/',
  char_values: 'AMj/',
  float32_values: ['NaN', 'Infinity', 0.10000000149011612],
  float64_values: ['-Infinity', 'NaN', 0.1],
  int8_values: [-128, 0, 127],
  uint8_values: 'AH//',
  int16_values: [-32768, 0, 32767],
  uint16_values: [0, 1, 65535],
  int32_values: [-2147483648, 0, 2147483647],
  uint32_values: [0, 1, 4294967295],
  int64_values: ['-9223372036854775808', '9007199254740993', '9223372036854775807'],
  uint64_values: [0, '9007199254740992', '18446744073709551615'],
  basic_types_values: [BASIC[1], BASIC[2], BASIC[3]],
  alignment_check: -1,
};
const TEXTS = ['', 'grüße, 世界, 👩‍🚀 \ud83d\ude80', 'a "quoted"\\\n\tline\u0007'];
const SEQUENCES: Payload[] = [
  {},
  { ...THREE, string_values: TEXTS },
  {
    bool_values: [true],
    byte_values: '',
    int64_values: ['-1'].map(Number),
    float64_values_default: [],
    alignment_check: 7,
  },
];
const { alignment_check: _, ...UNALIGNED } = THREE;

/** Each type's edges, as the API writes them. A type that is not here has its defaults and random messages. */
const MESSAGES: Record<string, Payload[]> = {
  BasicTypes: BASIC,
  Nested: BASIC.map((basic_types_value) => ({ basic_types_value })),
  Arrays: [{}, { ...THREE, string_values: TEXTS }],
  BoundedSequences: SEQUENCES,
  UnboundedSequences: [
    ...SEQUENCES,
    {
      uint8_values: Buffer.alloc(70_000, 7).toString('base64'),
      int64_values: Array.from({ length: 500 }, (_, n) => n),
    },
  ],
  BoundedPlainSequences: [{}, THREE],
  MultiNested: [
    {},
    {
      array_of_arrays: [{ ...THREE, string_values: TEXTS }, {}, {}],
      bounded_sequence_of_bounded_sequences: [{ ...THREE, string_values: TEXTS }, {}, {}],
      unbounded_sequence_of_unbounded_sequences: [{}, { ...THREE, string_values: TEXTS }],
    },
  ],
  Strings: [
    {},
    { string_value: TEXTS[1], bounded_string_value: 'exactly 22 bytes: äö' },
    { string_value: 'x'.repeat(100_000), string_value_default1: '', bounded_string_value_default1: TEXTS[2] },
  ],
  WStrings: [
    {},
    {
      wstring_value: TEXTS[1],
      wstring_value_default1: '',
      array_of_wstrings: TEXTS,
      bounded_sequence_of_wstrings: TEXTS,
      unbounded_sequence_of_wstrings: [...TEXTS, 'with\0 NUL', '\u{10ffff}'],
    },
  ],
  Builtins: [
    {},
    { duration_value: { sec: -2147483648, nanosec: 999999999 }, time_value: { sec: -1, nanosec: 4294967295 } },
    { duration_value: { sec: 2147483647 }, time_value: { sec: 2147483647, nanosec: 1 } },
  ],
  Defaults: [{}, { bool_value: false, float64_value: 'NaN', ...MOST }],
};
const ECHOED: Record<string, Payload[]> = {
  BasicTypes: BASIC.map((payload, index) => ({ ...payload, string_value: TEXTS[index % TEXTS.length] })),
  Arrays: [{}, { ...UNALIGNED, string_values: TEXTS }],
  Empty: [{}],
};
const GOALS: Payload[] = [
  {},
  {
    nested_field: BASIC[1],
    nested_field_no_pkg: { time_value: { sec: -1, nanosec: 1 } },
    nested_different_pkg: { sec: 7 },
  },
];

/** The messages of test_msgs in the sourced ROS; on Kilted some of them are .idl alone. */
function messageNames(): string[] {
  const names = new Set(Object.keys(MESSAGES));
  for (const prefix of (process.env.AMENT_PREFIX_PATH ?? '').split(delimiter).filter((part) => part !== '')) {
    for (const file of readdirSync(join(prefix, 'share/test_msgs/msg'))) {
      const [name, ending] = file.split('.');
      if (name !== undefined && (ending === 'msg' || ending === 'idl')) names.add(name);
    }
  }
  return [...names];
}

describeRos('every type of test_msgs, through the API, with rclpy at the other end', () => {
  let system: OnRos;
  let cloud: TestCloud;
  let peer: RclpyPeer;

  beforeAll(async () => {
    system = await startOnRos({ domainId: ROS_DOMAIN_ID });
    ({ cloud, peer } = system);
  });

  afterAll(async () => {
    await system?.stop();
  });

  describe.each(messageNames())('test_msgs/msg/%s', (name) => {
    const type = `test_msgs/msg/${name}`;
    const payloads = async (): Promise<Payload[]> => {
      const random = await peer.serializeRandom(type, RANDOM);
      return [...(MESSAGES[name] ?? [{}]), ...random.map(({ message }) => message as Payload)];
    };

    it('as a command: rclpy receives what JSON said', async () => {
      const topic = `/commanded/${name.toLowerCase()}`;
      const subscription = await peer.subscribe({ topic, type });
      for (const payload of await payloads()) {
        const outcome = await cloud.run('rover-1', { interface: 'topic', name: topic, type, payload });
        expect(outcome).toMatchObject({ state: 'executed', result: { matched_subscribers: 1 } });
        expect(await subscription.next()).toEqual(asJsonHasIt(await peer.complete(type, payload)));
      }
    });

    it('as a stream: JSON says what rclpy sent, and the stored bytes are its message to ROS', async () => {
      const source = `/streamed/${name.toLowerCase()}`;
      const publisher = await peer.advertise({ topic: source, type });
      await cloud.call('POST', '/robots/rover-1/streams', { source, type, hz: 1000 });
      await publisher.matched();
      const sent: unknown[] = [];
      const path = `/robots/rover-1/data?source=${encodeURIComponent(source)}`;
      let points: { payload: unknown }[] = [];
      for (const payload of await payloads()) {
        await publisher.publish(payload);
        sent.push(await peer.complete(type, payload));
        // One after the other: what comes at once may be more than a stream takes at once.
        points = await cloud.until(path, (found: typeof points) => found.length === sent.length);
      }
      expect(points.map((point) => point.payload).reverse()).toEqual(asJsonHasIt(sent));
      expect(await peer.deserialize(type, storedCdr(cloud.dataDir, source))).toEqual(sent);
    });
  });

  describe.each(Object.keys(ECHOED))('test_msgs/srv/%s', (name) => {
    it('as a call: the server’s answer has what the request said', async () => {
      const type = `test_msgs/srv/${name}`;
      const service = `/echo/${name.toLowerCase()}`;
      await peer.serveEcho(service, type);
      for (const payload of ECHOED[name] ?? []) {
        const outcome = await cloud.run('rover-1', { interface: 'service', name: service, type, payload });
        const result = asJsonHasIt(await peer.complete(`${type}_Response`, payload));
        expect(outcome).toMatchObject({ state: 'executed', error_message: null });
        expect(outcome.result).toEqual(result);
      }
    });
  });

  it('test_msgs/action/NestedMessage: feedback and result have what the goal said', async () => {
    const type = 'test_msgs/action/NestedMessage';
    await peer.serveEchoAction('/echo/nested', type);
    for (const payload of GOALS) {
      const outcome = await cloud.run('rover-1', {
        interface: 'action_send_goal',
        name: '/echo/nested',
        type,
        payload,
      });
      expect(outcome).toMatchObject({ state: 'executed' });
      expect(outcome.result).toEqual(await peer.complete(`${type}_Result`, payload));
      expect(outcome.feedback).toEqual(await peer.complete(`${type}_Feedback`, payload));
    }
  });

  it('test_msgs/action/Fibonacci: the last feedback and the result are the server’s', async () => {
    await peer.serveFibonacci('/fibonacci');
    const command = { interface: 'action_send_goal', name: '/fibonacci', type: 'test_msgs/action/Fibonacci' };
    const outcome = await cloud.run('rover-1', { ...command, payload: { order: 6 } });
    expect(outcome).toMatchObject({
      state: 'executed',
      result: { sequence: [0, 1, 1, 2, 3, 5, 8] },
      feedback: { sequence: [0, 1, 1, 2, 3, 5, 8] },
    });
  });

  it.each([
    ['NUL in a string', 'Strings', { string_value: 'a\0b' }, 'payload.string_value: expected a string without NUL'],
    [
      'half of a surrogate pair',
      'WStrings',
      { wstring_value: '\ud800' },
      'payload.wstring_value: expected a string of whole',
    ],
    [
      'a string over its bound',
      'Strings',
      { bounded_string_value: 'ä'.repeat(12) },
      'expected a string of at most 22 bytes, got one of 24',
    ],
    [
      'a list over its bound',
      'BoundedSequences',
      { int8_values: [1, 2, 3, 4] },
      'payload.int8_values: expected a list of at most 3',
    ],
    [
      'a list of another length',
      'Arrays',
      { int8_values: [1] },
      'payload.int8_values: expected a list of 3 values, got one of 1',
    ],
    [
      'a JSON number beyond 2^53',
      'BasicTypes',
      { int64_value: 2 ** 53 },
      'payload.int64_value: expected whole numbers beyond',
    ],
  ])('refuses %s, which ROS would change', async (_name, type, payload, words) => {
    const command = { interface: 'topic', name: '/refused', type: `test_msgs/msg/${type}`, payload };
    expect(await cloud.run('rover-1', command)).toMatchObject({
      error_code: 'invalid_payload',
      error_message: expect.stringContaining(words),
    });
  });
});

/** JSON has no negative zero: JavaScript writes it as 0. */
function asJsonHasIt(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
