import { encodeCdr } from '@drover/shared/ros/cdr';
import { fromJson } from '@drover/shared/ros/from-json';
import { expect, it } from 'vitest';
import { startRclpyPeer } from '../testing/rclpy-peer.js';
import { describeRos } from '../testing/ros.js';
import { createRclnodejsGraph } from './graph.js';

const DOMAIN_ID = 14;
const TOPIC = '/cmd_vel';
const TYPE = 'geometry_msgs/msg/Twist';

describeRos('a graph that has just joined', () => {
  it('does not lose its first message, however long the others take to meet it', async () => {
    process.env.ROS_AUTOMATIC_DISCOVERY_RANGE = 'LOCALHOST';
    const peer = await startRclpyPeer({ domainId: DOMAIN_ID });
    const subscription = await peer.subscribe({ topic: TOPIC, type: TYPE });
    for (let round = 1; round <= 10; round += 1) {
      const graph = createRclnodejsGraph({ domainId: DOMAIN_ID, log: { warn() {} } });
      await graph.start();
      const definition = await graph.describe(TYPE);
      if (definition.kind !== 'msg') throw new TypeError(`${TYPE} is no message`);
      const cdr = encodeCdr(definition.message, fromJson(definition.message, { linear: { x: round } }, 'payload'));
      const request = { topic: TOPIC, type: TYPE, cdr, latched: false, matchTimeoutMs: 1, joiningTimeoutMs: 5_000 };
      expect(await graph.publish(request)).toEqual({ matchedSubscribers: 1 });
      expect(await subscription.next()).toMatchObject({ linear: { x: round } });
      await graph.stop();
    }
    await peer.stop();
  }, 90_000);
});
