import { createSimulatedGraph, type SimulatedGraph, type SimulatedGraphOptions } from './graph.js';
import { type LoadTopic, startLoad } from './load.js';
import { startProbe } from './robot/probe.js';
import { startRobot } from './robot/robot.js';

export interface RobotGraphOptions extends SimulatedGraphOptions {
  readonly random: () => number;
  /** For tests: where the probe writes what happens. */
  readonly probeFile?: string | undefined;
  /** For tests: topics beside the robot's own. */
  readonly load?: readonly LoadTopic[];
}

/** The simulated graph with the simulated robot in it, from its `start` to its `stop`. */
export function createRobotGraph(options: RobotGraphOptions): SimulatedGraph {
  const { random, probeFile, load } = options;
  return createSimulatedGraph({
    ...options,
    onStart: async (peers) => {
      await startRobot(peers.node('/simulated_robot'), random);
      if (probeFile) await startProbe(peers.node('/probe'), probeFile);
      if (load) await startLoad(peers.node('/load'), load);
    },
  });
}
