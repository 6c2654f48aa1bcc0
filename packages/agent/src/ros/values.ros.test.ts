import { arbitraryMessage } from '@drover/shared/ros/arbitrary.fixture';
import { arbitraryBrokenPayload, type BrokenPayload } from '@drover/shared/ros/broken.fixture';
import { decodeCdr, encodeCdr } from '@drover/shared/ros/cdr';
import type { MessageSchema } from '@drover/shared/ros/definitions';
import { fromJson } from '@drover/shared/ros/from-json';
import { toJson } from '@drover/shared/ros/to-json';
import type { RosMessage } from '@drover/shared/ros/values';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runnerOn } from '../commands/fixture.js';
import type { RosGraph } from './graph.js';
import { createRclnodejsGraph } from './rclnodejs/graph.js';
import { type RclpyPeer, startRclpyPeer } from './testing/rclpy-peer.js';
import { describeRos } from './testing/ros.js';

const DOMAIN_ID = 27;
/** The same random values again: DROVER_TEST_SEED. */
const SEED = Number(process.env.DROVER_TEST_SEED ?? Date.now() % 2 ** 31);

/** How many random messages of each type: 1,000 in all. The nested ones are large. */
const COUNTS = {
  'test_msgs/msg/MultiNested': 40,
  'test_msgs/msg/Nested': 100,
  'test_msgs/msg/Arrays': 100,
  'test_msgs/msg/BoundedSequences': 100,
  'test_msgs/msg/UnboundedSequences': 100,
  'test_msgs/msg/BoundedPlainSequences': 60,
  'test_msgs/msg/BasicTypes': 80,
  'test_msgs/msg/Strings': 80,
  'test_msgs/msg/WStrings': 100,
  'test_msgs/msg/Builtins': 60,
  'test_msgs/msg/Defaults': 40,
  'nav_msgs/msg/Odometry': 60,
  'diagnostic_msgs/msg/DiagnosticArray': 60,
  'visualization_msgs/msg/InteractiveMarkerUpdate': 20,
};
const TYPES = Object.entries(COUNTS);

describeRos(`random values on real ROS 2 (DROVER_TEST_SEED=${SEED})`, () => {
  let peer: RclpyPeer;
  let graph: RosGraph;

  beforeAll(async () => {
    process.env.ROS_AUTOMATIC_DISCOVERY_RANGE = 'LOCALHOST';
    peer = await startRclpyPeer({ domainId: DOMAIN_ID });
    graph = createRclnodejsGraph({ domainId: DOMAIN_ID, log: { warn() {} } });
    await graph.start();
  });
  afterAll(async () => {
    await graph?.stop();
    await peer?.stop();
  });

  const schemaOf = async (type: string): Promise<MessageSchema> => {
    const definition = await graph.describe(type);
    if (definition.kind !== 'msg') throw new TypeError(`${type} is no message`);
    return definition.message;
  };
  const randomMessages = (schema: MessageSchema, numRuns: number): RosMessage[] =>
    fc.sample(arbitraryMessage(schema).map(readableByRclpy), { seed: SEED, numRuns });

  it.each(TYPES)('%s: what is encoded here, rclpy reads as it was meant (%i times)', async (type, count) => {
    const schema = await schemaOf(type);
    const payloads = randomMessages(schema, count).map((message) => toJson(schema, message));
    const read = await peer.deserialize(
      type,
      payloads.map((payload) => encodeCdr(schema, fromJson(schema, payload, 'payload'))),
    );
    expect(read).toEqual(payloads);
  });

  it.each(TYPES)('%s: what rclpy encodes is read here as it was meant (%i times)', async (type, count) => {
    const schema = await schemaOf(type);
    const made = await peer.serializeRandom(type, { seed: SEED, count });
    for (const { message, cdr } of made) expect(toJson(schema, decodeCdr(schema, cdr))).toEqual(message);
  });

  it.each(TYPES)('%s: commands arrive at a subscriber as they were meant (%i times)', async (type, count) => {
    const { run, stop } = runnerOn(graph);
    const schema = await schemaOf(type);
    const name = `/to_ros/${topicOf(type)}`;
    const subscription = await peer.subscribe({ topic: name, type });
    for (const message of randomMessages(schema, count)) {
      const payload = toJson(schema, message) as Record<string, unknown>;
      expect(await run({ name, type, payload })).toMatchObject({
        state: 'executed',
        result: { matched_subscribers: 1 },
      });
      expect(await subscription.next()).toEqual(payload);
    }
    await stop();
  });

  it.each(TYPES)('%s: messages of a publisher come in as they were meant (%i times)', async (type, count) => {
    const schema = await schemaOf(type);
    const topic = `/from_ros/${topicOf(type)}`;
    const publisher = await peer.advertise({ topic, type });
    const arrivals = new Arrivals();
    const subscription = await graph.subscribe({ topic, type, drainHz: 500, depth: 10, onMessage: arrivals.push });
    await publisher.matched();
    for (let index = 0; index < count; index += 1) {
      const sent = await publisher.publishRandom(SEED + index);
      expect(toJson(schema, decodeCdr(schema, await arrivals.next()))).toEqual(sent);
    }
    await subscription.close();
  });

  it('1,000 broken commands are each refused by the path of what is wrong, and the agent goes on', async () => {
    const { run, stop } = runnerOn(graph);
    let refused = 0;
    for (const [type, count] of TYPES) {
      const schema = await schemaOf(type);
      const broken: BrokenPayload[] = fc.sample(arbitraryBrokenPayload(schema), { seed: SEED, numRuns: count });
      for (const { json, path } of broken) {
        const outcome = await run({ name: '/broken', type, payload: json as Record<string, unknown> });
        expect(outcome).toMatchObject({ state: 'error', error_code: 'invalid_payload' });
        expect(outcome.message).toMatch(/: expected .+, got .+/);
        expect(outcome.message?.startsWith(`${path}: `), `${path} in ${outcome.message}`).toBe(true);
        refused += 1;
      }
    }
    expect(refused).toBe(1000);
    const subscription = await peer.subscribe({ topic: '/alive', type: 'std_msgs/msg/String' });
    await run({ name: '/alive', type: 'std_msgs/msg/String', payload: { data: 'still here' } });
    expect(await subscription.next()).toEqual({ data: 'still here' });
    await stop();
  });
});

const topicOf = (type: string) => type.replace(/.*\//, '').toLowerCase();

/** rclpy takes a byte order mark at the beginning of a wide string for one, and drops it or turns the bytes around. */
function readableByRclpy(message: RosMessage): RosMessage {
  const readable = (value: RosMessage[string]): RosMessage[string] => {
    if (typeof value === 'string') return value.replace(/^[\ufeff\ufffe]+/, '');
    if (Array.isArray(value)) return value.map(readable);
    return typeof value === 'object' && !ArrayBuffer.isView(value) ? readableByRclpy(value) : value;
  };
  return Object.fromEntries(Object.entries(message).map(([name, value]) => [name, readable(value)]));
}

class Arrivals {
  readonly #cdrs: Uint8Array[] = [];
  #wake = () => {};

  readonly push = (cdr: Uint8Array): void => {
    this.#cdrs.push(cdr);
    this.#wake();
  };

  async next(): Promise<Uint8Array> {
    for (;;) {
      const cdr = this.#cdrs.shift();
      if (cdr) return cdr;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
