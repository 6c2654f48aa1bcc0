import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { decodeCdr, encodeCdr } from '@drover/shared/ros/cdr';
import type { InterfaceDefinition, MessageSchema } from '@drover/shared/ros/definitions';
import { fromJson } from '@drover/shared/ros/from-json';
import { toJson } from '@drover/shared/ros/to-json';
import type { RosMessage } from '@drover/shared/ros/values';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { RosError, type RosGraph } from './graph.js';
import { createRclnodejsGraph } from './rclnodejs/graph.js';
import { type RclpyPeer, startRclpyPeer } from './testing/rclpy-peer.js';
import { describeRos } from './testing/ros.js';

const DOMAIN_ID = 11;
const BASIC_TYPES = 'test_msgs/srv/BasicTypes';
const ARRAYS = 'test_msgs/srv/Arrays';
const NESTED_ACTION = 'test_msgs/action/NestedMessage';
const SEQUENCES = 'test_msgs/msg/UnboundedSequences';

/** What ends the process, or goes through it wrong, where values reach rclnodejs as they come. */
describeRos('the traps of rclnodejs', () => {
  let peer: RclpyPeer;
  let graph: RosGraph;
  let names = 0;
  const fresh = (word: string) => `/traps/${word}_${++names}`;

  beforeAll(async () => {
    process.env.ROS_AUTOMATIC_DISCOVERY_RANGE = 'LOCALHOST';
    peer = await startRclpyPeer({ domainId: DOMAIN_ID });
    graph = createRclnodejsGraph({ domainId: DOMAIN_ID, log: { warn() {} } });
    await graph.start();
    await peer.serveEcho('/traps/basic', BASIC_TYPES);
    await peer.serveEcho('/traps/arrays', ARRAYS);
    await peer.serveEchoAction('/traps/nested', NESTED_ACTION);
    await peer.serveSetBool('/traps/alive');
  });
  afterAll(async () => {
    await graph?.stop();
    await peer?.stop();
  });

  // Every trap ends this process or the graph's work; that both go on is what each test is about.
  afterEach(async () => {
    const request = { service: '/traps/alive', type: 'std_srvs/srv/SetBool', request: { data: true } };
    expect(await graph.call({ ...request, readyTimeoutMs: 5000, timeoutMs: 5000 })).toMatchObject({ success: true });
  });

  const describe = async <Kind extends InterfaceDefinition['kind']>(kind: Kind, type: string) => {
    const definition = await graph.describe(type);
    if (definition.kind !== kind) throw new TypeError(`${type} is no ${kind}`);
    return definition as Extract<InterfaceDefinition, { kind: Kind }>;
  };
  const schemaOf = async (type: string): Promise<MessageSchema> => (await describe('msg', type)).message;

  const call = (service: string, type: string, request: RosMessage) =>
    graph.call({ service, type, request, readyTimeoutMs: 5000, timeoutMs: 5000 });

  /** Calls a service that echoes, both ways as JSON. */
  const echo = async (service: string, type: string, request: object): Promise<unknown> => {
    const definition = await describe('srv', type);
    const answer = await call(service, type, fromJson(definition.request, request, 'payload'));
    return toJson(definition.response, answer);
  };

  const publish = async (topic: string, type: string, message: RosMessage) =>
    graph.publish({ topic, type, cdr: encodeCdr(await schemaOf(type), message), latched: false, matchTimeoutMs: 5000 });

  const goal = (values: RosMessage, onFeedback: (feedback: RosMessage) => void = () => {}) =>
    graph.sendGoal({
      action: '/traps/nested',
      type: NESTED_ACTION,
      goalId: randomBytes(16),
      goal: values,
      readyTimeoutMs: 5000,
      acceptTimeoutMs: 5000,
      onFeedback,
    });

  it.each([
    ['text for a list of numbers', ARRAYS, '/traps/arrays', { float64_values: 'abc' }],
    ['base64 for a list of floats', ARRAYS, '/traps/arrays', { float32_values: 'AAEC' }],
    ['a list of the wrong length', ARRAYS, '/traps/arrays', { int32_values: Int32Array.of(1, 2) }],
    ['text for a number', BASIC_TYPES, '/traps/basic', { float64_value: 'abc' }],
    ['a fraction for an integer', BASIC_TYPES, '/traps/basic', { int32_value: 1.7 }],
    ['an integer out of range', BASIC_TYPES, '/traps/basic', { uint8_value: 300 }],
    ['a number for a 64-bit integer', BASIC_TYPES, '/traps/basic', { int64_value: 5 }],
    ['a negative unsigned integer', BASIC_TYPES, '/traps/basic', { uint64_value: -1n }],
    ['a number for text', BASIC_TYPES, '/traps/basic', { string_value: 5 }],
    ['nothing at all', BASIC_TYPES, '/traps/basic', {}],
    ['null for a message', ARRAYS, '/traps/arrays', { basic_types_values: [null, null, null] }],
  ])('refuses %s in a request', async (_, type, service, values) => {
    await expect(call(service, type, values as unknown as RosMessage)).rejects.toBeInstanceOf(RosError);
  });

  it('refuses a goal with a value of the wrong kind', async () => {
    const values = { nested_different_pkg: { sec: 'soon', nanosec: 0 } };
    await expect(goal(values as unknown as RosMessage)).rejects.toBeInstanceOf(RosError);
  });

  it('refuses bytes that are no message', async () => {
    const request = { topic: fresh('bytes'), type: 'std_msgs/msg/String', latched: false, matchTimeoutMs: 50 };
    for (const cdr of [new Uint8Array(0), Uint8Array.of(1), new TextEncoder().encode('not CDR at all')]) {
      await expect(graph.publish({ ...request, cdr })).rejects.toBeInstanceOf(RosError);
    }
  });

  it('carries every 64-bit integer exactly through a service', async () => {
    for (const [int64_value, uint64_value] of [
      ['-9223372036854775808', '18446744073709551615'],
      ['9007199254740993', '9007199254740993'],
      [-1, 0],
    ]) {
      expect(await echo('/traps/basic', BASIC_TYPES, { int64_value, uint64_value })).toMatchObject({
        int64_value,
        uint64_value,
      });
    }
  });

  it('carries lists of 64-bit integers and of bytes exactly through a service', async () => {
    const request = {
      int64_values: ['-9223372036854775808', '9007199254740993', 3],
      uint64_values: ['18446744073709551615', 1, 2],
      uint8_values: Buffer.of(0, 128, 255).toString('base64'),
      byte_values: Buffer.of(255, 1, 128).toString('base64'),
      char_values: Buffer.of(200, 0, 65).toString('base64'),
      float32_values: ['NaN', 'Infinity', -0.5],
      string_values: ['', 'é€😀', 'x'.repeat(1000)],
    };
    expect(await echo('/traps/arrays', ARRAYS, request)).toMatchObject(request);
  });

  it('keeps the sign of a char, which rclnodejs loses', async () => {
    expect(
      await echo('/traps/basic', BASIC_TYPES, { char_value: 200, int8_value: -56, byte_value: 200 }),
    ).toMatchObject({
      char_value: 200,
      int8_value: -56,
      byte_value: 200,
    });
  });

  it('sends a list that is a view into other memory as that view', async () => {
    const memory = Float64Array.of(666, 1, 2, 3, 666);
    const bytes = Uint8Array.of(66, 7, 8, 9, 66);
    const definition = await describe('srv', ARRAYS);
    const request = {
      ...fromJson(definition.request, {}, 'payload'),
      float64_values: memory.subarray(1, 4),
      uint8_values: bytes.subarray(1, 4),
    };
    expect(await call('/traps/arrays', ARRAYS, request)).toMatchObject({
      float64_values: Float64Array.of(1, 2, 3),
      uint8_values: Uint8Array.of(7, 8, 9),
    });
  });

  it('publishes a list that is a view, and CDR that is a view, as it is', async () => {
    const topic = fresh('views');
    const subscription = await peer.subscribe({ topic, type: SEQUENCES });
    const schema = await schemaOf(SEQUENCES);
    const message = {
      ...fromJson(schema, {}, 'payload'),
      int64_values: BigInt64Array.of(6n, -(2n ** 63n), 2n ** 53n + 1n, 6n).subarray(1, 3),
      uint8_values: Buffer.from([1, 2, 3]),
    };
    const cdr = encodeCdr(schema, message);
    const memory = new Uint8Array(cdr.length + 7).fill(0xaa);
    memory.set(cdr, 3);
    const view = memory.subarray(3, 3 + cdr.length);
    await graph.publish({ topic, type: SEQUENCES, cdr: view, latched: false, matchTimeoutMs: 5000 });
    memory.fill(0);
    expect(await subscription.next()).toMatchObject({
      int64_values: ['-9223372036854775808', '9007199254740993'],
      uint8_values: 'AQID',
    });
  });

  it('receives 64-bit integers of a topic exactly', async () => {
    const topic = fresh('received');
    const publisher = await peer.advertise({ topic, type: SEQUENCES });
    const schema = await schemaOf(SEQUENCES);
    const received = new Promise<unknown>((resolve, reject) => {
      const onMessage = (cdr: Uint8Array) => resolve(toJson(schema, decodeCdr(schema, cdr)));
      graph.subscribe({ topic, type: SEQUENCES, drainHz: 50, depth: 5, onMessage }).catch(reject);
    });
    await publisher.matched();
    const message = { int64_values: ['9223372036854775807', -1], uint64_values: ['18446744073709551615'] };
    await publisher.publish(message);
    expect(await received).toMatchObject(message);
  });

  it('cuts no text at a zero character, but refuses it before it is sent', async () => {
    const text = 'before\0after';
    const message = { string_value: text };
    const definition = await describe('srv', BASIC_TYPES);
    expect(() => fromJson(definition.request, message, 'payload')).toThrow(/payload\.string_value/);
    const unchecked = { ...fromJson(definition.request, {}, 'payload'), ...message };
    await expect(call('/traps/basic', BASIC_TYPES, unchecked)).rejects.toBeInstanceOf(RosError);
  });

  it('receives a MultiNested, which ends a process that has rclnodejs read it', async () => {
    const topic = fresh('multi_nested');
    const type = 'test_msgs/msg/MultiNested';
    const publisher = await peer.advertise({ topic, type });
    const schema = await schemaOf(type);
    const received = new Promise<unknown>((resolve, reject) => {
      const onMessage = (cdr: Uint8Array) => resolve(toJson(schema, decodeCdr(schema, cdr)));
      graph.subscribe({ topic, type, drainHz: 50, depth: 5, onMessage }).catch(reject);
    });
    await publisher.matched();
    const nested = { int64_values: ['9007199254740993', 2, 3], string_values: ['a', 'b', 'c'] };
    await publisher.publish({ array_of_arrays: [nested, nested, nested], unbounded_sequence_of_arrays: [nested] });
    expect(await received).toMatchObject({
      array_of_arrays: [nested, nested, nested],
      unbounded_sequence_of_arrays: [nested],
    });
  });

  it('publishes a MultiNested as it is', async () => {
    const topic = fresh('multi_nested');
    const type = 'test_msgs/msg/MultiNested';
    const subscription = await peer.subscribe({ topic, type });
    const nested = { int64_values: ['9007199254740993', 2], string_values: ['a', 'b'] };
    const json = { unbounded_sequence_of_unbounded_sequences: [nested, nested] };
    await publish(topic, type, fromJson(await schemaOf(type), json, 'payload'));
    expect(await subscription.next()).toMatchObject(json);
  });

  it('carries nested messages and 64-bit integers through a goal, its feedback and its result', async () => {
    const definition = await describe('action', NESTED_ACTION);
    const values = {
      nested_field_no_pkg: { duration_value: { sec: -1, nanosec: 999999999 }, time_value: { sec: 1, nanosec: 2 } },
      nested_field: { int64_value: '9007199254740993', uint64_value: '18446744073709551615', float64_value: 'NaN' },
      nested_different_pkg: { sec: 7, nanosec: 8 },
    };
    const feedback: unknown[] = [];
    const handle = await goal(fromJson(definition.goal, values, 'payload'), (message) =>
      feedback.push(toJson(definition.feedback, message)),
    );
    const { status, result } = await handle.result;
    expect(status).toBe('succeeded');
    const fields = Object.keys(toJson(definition.result, result) as object);
    const shared = Object.fromEntries(Object.entries(values).filter(([name]) => fields.includes(name)));
    expect(toJson(definition.result, result)).toMatchObject(shared);
    expect(feedback).toHaveLength(1);
    expect(Object.keys(shared).length).toBeGreaterThan(0);
  });

  it('goes on after callbacks that throw', async () => {
    const topic = fresh('throwing');
    const publisher = await peer.advertise({ topic, type: 'std_msgs/msg/Int64' });
    let thrown = 0;
    await graph.subscribe({
      topic,
      type: 'std_msgs/msg/Int64',
      drainHz: 50,
      depth: 10,
      onMessage: () => {
        thrown += 1;
        throw new Error('from a message callback');
      },
    });
    await publisher.matched();
    for (let data = 1; data <= 3; data += 1) await publisher.publish({ data });
    await expect.poll(() => thrown).toBe(3);
    const definition = await describe('action', NESTED_ACTION);
    const handle = await goal(fromJson(definition.goal, {}, 'payload'), () => {
      thrown += 1;
      throw new Error('from a feedback callback');
    });
    await handle.result;
    expect(thrown).toBe(4);
  });

  it('closes a subscription from within its own callback', async () => {
    const topic = fresh('closing');
    const publisher = await peer.advertise({ topic, type: 'std_msgs/msg/Int64' });
    let calls = 0;
    const subscription = await graph.subscribe({
      topic,
      type: 'std_msgs/msg/Int64',
      drainHz: 5,
      depth: 10,
      onMessage: () => {
        calls += 1;
        void subscription.close();
      },
    });
    await publisher.matched();
    for (let data = 1; data <= 3; data += 1) await publisher.publish({ data });
    await expect.poll(() => calls).toBe(1);
  });

  it('takes all answers that have come in one turn of the event loop, each for its own call', async () => {
    await echo('/traps/basic', BASIC_TYPES, { int32_value: 0 });
    let turn = 0;
    let ticking = setImmediate(function tick() {
      turn += 1;
      ticking = setImmediate(tick);
    });
    const calls = Array.from({ length: 8 }, async (_, n) => {
      const answer = await echo('/traps/basic', BASIC_TYPES, { int32_value: n });
      return { turn, answer };
    });
    await new Promise(setImmediate);
    // The requests are out. A thread that stands still can't be told that all answers are there: it waits for longer than they take.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
    const answers = await Promise.all(calls);
    clearImmediate(ticking);
    expect(answers.map(({ answer }) => answer)).toMatchObject(answers.map((_, n) => ({ int32_value: n })));
    expect(new Set(answers.map((one) => one.turn)).size).toBe(1);
  });

  it('calls a service again and again without losing memory of it', async () => {
    const definition = await describe('srv', ARRAYS);
    const request = fromJson(definition.request, { string_values: ['a'.repeat(100_000), '', ''] }, 'payload');
    const bytesAfter = async (calls: number) => {
      for (let count = 0; count < calls; count += 1) await call('/traps/arrays', ARRAYS, request);
      collectGarbage();
      return process.memoryUsage.rss();
    };
    const before = await bytesAfter(200);
    // Each call holds 100 kB twice; lost, they would be 160 MB. The allocator of a busy process keeps up to 20 MB by itself.
    expect((await bytesAfter(800)) - before).toBeLessThan(60e6);
  });
});

/** What a test of memory measures would else be mostly JavaScript's own garbage. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}
