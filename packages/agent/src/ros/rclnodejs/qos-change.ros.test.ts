import { decodeCdr } from '@drover/shared/ros/cdr';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RosGraph, Subscription } from '../graph.js';
import type { PeerQos } from '../testing/peer.js';
import { type RclpyPeer, startRclpyPeer } from '../testing/rclpy-peer.js';
import { describeRos } from '../testing/ros.js';
import { createRclnodejsGraph } from './graph.js';

const DOMAIN_ID = 19;
const INT64 = 'std_msgs/msg/Int64';
const BOOL = 'std_msgs/msg/Bool';
/** What is published at each QoS, and how often a second. */
const PHASE = 150;
const HZ = 50;

describeRos('a publisher whose QoS changes while it publishes', () => {
  let graph: RosGraph;
  let peer: RclpyPeer;

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

  const subscribe = async (topic: string, type: string) => {
    const definition = await graph.describe(type);
    if (definition.kind !== 'msg') throw new TypeError(`${type} is no message`);
    const received: unknown[] = [];
    const onMessage = (cdr: Uint8Array) => void received.push(decodeCdr(definition.message, cdr).data);
    const subscription = await graph.subscribe({ topic, type, drainHz: 50, depth: 50, onMessage });
    return { received, subscription };
  };

  const RELIABLE: PeerQos = { reliability: 'reliable' };
  const BEST_EFFORT: PeerQos = { reliability: 'best_effort' };
  const TRANSIENT_LOCAL: PeerQos = { reliability: 'reliable', durability: 'transient_local', depth: 50 };

  /** Which QoS the subscription asked for, in the order in which it did. */
  const asked = (subscription: Subscription) => {
    const seen: string[] = [];
    const timer = setInterval(() => {
      const { reliable, transientLocal } = subscription.sight().qos;
      const qos = `${reliable ? 'reliable' : 'best effort'}${transientLocal ? ', transient local' : ''}`;
      if (seen.at(-1) !== qos) seen.push(qos);
    }, 5);
    return { seen, stop: () => clearInterval(timer) };
  };

  it('is heard on: nothing twice, and lost only what is sent in the moment of a change', async () => {
    const topic = '/changing/qos';
    const { received, subscription } = await subscribe(topic, INT64);
    const { seen, stop } = asked(subscription);
    let n = 0;
    for (const qos of [RELIABLE, BEST_EFFORT, TRANSIENT_LOCAL, RELIABLE]) {
      const publisher = await peer.advertise({ topic, type: INT64, ...qos });
      if (n === 0) await publisher.matched();
      await publisher.repeat({}, { count: PHASE, hz: HZ, counter: 'data', from: n + 1 });
      n += PHASE;
      // Its last message is not lost for being its last.
      await expect.poll(() => received.map(Number)).toContain(n);
      await publisher.close();
    }
    stop();
    const numbers = received.map(Number);
    const lost = Array.from({ length: n }, (_, index) => index + 1).filter((number) => !numbers.includes(number));
    process.stdout.write(`lost of ${n}: ${JSON.stringify(lost)}; asked: ${seen.join(' -> ')}\n`);
    // In order of arrival: what a transient local publisher sent before it was heard comes after.
    expect(numbers).toHaveLength(new Set(numbers).size);
    expect(seen).toEqual(['reliable', 'best effort', 'reliable, transient local', 'reliable']);
    // A publisher is heard once DDS has connected the two: of each QoS, the first that are published may go by.
    for (const number of lost) expect((number - 1) % PHASE).toBeLessThan(HZ);
  });

  it('of equal messages, as many are heard as are published after the change', async () => {
    const topic = '/changing/heartbeat';
    const { received } = await subscribe(topic, BOOL);
    for (const qos of [RELIABLE, TRANSIENT_LOCAL]) {
      const publisher = await peer.advertise({ topic, type: BOOL, ...qos });
      await publisher.matched();
      const before = received.length;
      await publisher.repeat({ data: true }, { count: 250, hz: 50 });
      await expect.poll(() => received.length - before, { timeout: 5000 }).toBeGreaterThanOrEqual(250 - 50);
      expect(received.length - before).toBeLessThanOrEqual(250);
      await publisher.close();
    }
  });
});
