import { expect } from 'vitest';
import { type RclpyPeer, startRclpyPeer } from '../../packages/agent/src/ros/testing/rclpy-peer.js';
import { TestAgent } from './agent.js';
import { TestCloud } from './cloud.js';

/** The whole system on real ROS 2: a cloud, the agent of its robot `rover-1`, and a rclpy process at the other end. */
export interface OnRos {
  readonly cloud: TestCloud;
  readonly agent: TestAgent;
  readonly peer: RclpyPeer;
  /** Ends them; fails where one of ours did not end well. */
  stop(): Promise<void>;
}

/** Resolves once the robot is online. */
export async function startOnRos(options: {
  /** Of the test file alone: see CONTRIBUTING. */
  domainId: number;
  /** Of the agent. */
  env?: Record<string, string>;
  supervised?: boolean;
}): Promise<OnRos> {
  const { domainId, env, supervised = false } = options;
  const [cloud, peer] = await Promise.all([TestCloud.start(), startRclpyPeer({ domainId })]);
  const agent = await TestAgent.start({
    url: cloud.url,
    token: await cloud.register('rover-1'),
    supervised,
    env: {
      DROVER_ROS: 'rclnodejs',
      ROS_DOMAIN_ID: String(domainId),
      ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST',
      ...env,
    },
  });
  await cloud.online('rover-1');
  const stop = async () => {
    await peer.stop();
    expect(await agent.stop()).toBe(0);
    expect(await cloud.stop()).toBe(0);
  };
  return { cloud, agent, peer, stop };
}
