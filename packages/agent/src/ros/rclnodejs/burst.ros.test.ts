import { encodeCdr } from '@drover/shared/ros/cdr';
import { fromJson } from '@drover/shared/ros/from-json';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RosGraph } from '../graph.js';
import { type RclpyPeer, startRclpyPeer } from '../testing/rclpy-peer.js';
import { describeRos } from '../testing/ros.js';
import { createRclnodejsGraph } from './graph.js';

const DOMAIN_ID = 42;
const INT64 = 'std_msgs/msg/Int64';

// Alone on the machine (vitest.config.ts): a subscriber that does not get to run for 40 ms loses messages, whatever we do.
describeRos('a burst of messages', () => {
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

  // All of them where the subscriber's process gets to run; at once, only some 30 arrive.
  it('reaches a subscriber that keeps ten, in order', async () => {
    const definition = await graph.describe(INT64);
    if (definition.kind !== 'msg') throw new TypeError(`${INT64} is no message`);
    const schema = definition.message;
    const topic = '/burst';
    const subscription = await peer.subscribe({ topic, type: INT64, depth: 10 });
    const publish = (data: number) => {
      const cdr = encodeCdr(schema, fromJson(schema, { data }, 'payload'));
      return graph.publish({ topic, type: INT64, cdr, latched: false, matchTimeoutMs: 1_000, joiningTimeoutMs: 5_000 });
    };
    await Promise.all(Array.from({ length: 100 }, (_, n) => publish(n)));
    const received: number[] = [];
    while (received.at(-1) !== 99) received.push(((await subscription.next()) as { data: number }).data);
    expect(received).toEqual([...received].sort((a, b) => a - b));
    expect(received.slice(0, 5)).toEqual([0, 1, 2, 3, 4]);
    expect(received.length).toBeGreaterThan(60);
  });
});
