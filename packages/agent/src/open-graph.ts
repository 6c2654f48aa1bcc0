import type { Logger } from 'pino';
import type { Config } from './config.js';
import type { RosGraph } from './ros/graph.js';

/** The ROS graph the settings ask for, not started. Only the one that is used is loaded. */
export async function openGraph(ros: Config['ros'], log: Logger): Promise<RosGraph> {
  const rosLog = log.child({ part: 'ros' });
  if (ros === 'rclnodejs') {
    const { createRclnodejsGraph } = await import('./ros/rclnodejs/graph.js');
    return createRclnodejsGraph({ log: rosLog });
  }
  const { createRobotGraph } = await import('./ros/simulated/robot-graph.js');
  return createRobotGraph({
    random: Math.random,
    onFault: (where, error) => rosLog.error({ err: error, where }, 'an error in the simulated robot'),
  });
}
