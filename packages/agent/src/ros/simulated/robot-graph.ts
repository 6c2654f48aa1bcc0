import { createSimulatedGraph, type SimulatedGraph, type SimulatedGraphOptions } from './graph.js';
import { startProbe } from './robot/probe.js';
import { startRobot } from './robot/robot.js';

/**
 * The simulated graph with the simulated robot in it, from its `start` to its `stop`.
 * @param options `probeFile`: with the probe of tests as well, which writes there what happens.
 */
export function createRobotGraph(
  options: SimulatedGraphOptions & { readonly random: () => number; readonly probeFile?: string | undefined },
): SimulatedGraph {
  const { random, probeFile } = options;
  return createSimulatedGraph({
    ...options,
    onStart: async (peers) => {
      await startRobot(peers.node('/simulated_robot'), random);
      if (probeFile) await startProbe(peers.node('/probe'), probeFile);
    },
  });
}
