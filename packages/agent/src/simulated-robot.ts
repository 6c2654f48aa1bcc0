import { pino } from 'pino';
import { UnknownTypeError } from './ros/graph.js';
import { RclnodejsUnavailableError } from './ros/rclnodejs/load.js';
import { RobotNode } from './ros/rclnodejs/robot/robot-node.js';
import { startRobot } from './ros/simulated/robot/robot.js';

/**
 * The simulated robot as a program of its own, on real ROS 2: what the agent has inside itself with DROVER_ROS=simulated,
 * for agents that join a real graph. Says `"msg":"ready"` on stdout once all of it is there; ends at SIGTERM or SIGINT.
 */

/** What a supervisor should not try again by itself (EX_CONFIG of sysexits.h). */
const EXIT_CONFIG = 78;

const log = pino({ base: null }, pino.destination({ sync: true }));
try {
  const onFault = (where: string, error: unknown) =>
    log.error({ err: error, where }, 'an error in the simulated robot');
  const node = await RobotNode.join({ name: 'simulated_robot', onFault });
  await startRobot(node, Math.random);
  log.info({ node: node.name, domain: process.env.ROS_DOMAIN_ID ?? '0' }, 'ready');
  const stop = () => {
    node.leave();
    process.exit(0);
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
} catch (error) {
  if (!(error instanceof RclnodejsUnavailableError || error instanceof UnknownTypeError)) throw error;
  console.error(`drover-simulated-robot can't start: ${error.message}`);
  process.exit(EXIT_CONFIG);
}
