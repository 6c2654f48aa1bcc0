import { describeGraphContract } from './graph.contract.js';
import type { RosGraph } from './graph.js';
import { createRclnodejsGraph } from './rclnodejs/graph.js';
import { startRclpyPeer } from './testing/rclpy-peer.js';
import { describeRos } from './testing/ros.js';

const DOMAIN_ID = 10;

describeRos('on real ROS 2', () => {
  describeGraphContract('rclnodejs, with a rclpy peer', async () => {
    process.env.ROS_AUTOMATIC_DISCOVERY_RANGE = 'LOCALHOST';
    const peer = await startRclpyPeer({ domainId: DOMAIN_ID });
    const graphs: RosGraph[] = [];
    const start = async () => {
      const graph = createRclnodejsGraph({ domainId: DOMAIN_ID, log: { warn() {} } });
      graphs.push(graph);
      await graph.start();
      return graph;
    };
    return {
      graph: await start(),
      peer,
      another: start,
      async close() {
        for (const graph of graphs) await graph.stop();
        await peer.stop();
      },
    };
  });
});
