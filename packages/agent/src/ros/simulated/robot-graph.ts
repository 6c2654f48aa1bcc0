import { createSimulatedGraph, type SimulatedGraph, type SimulatedGraphOptions } from './graph.js';
import { startRobot } from './robot/robot.js';

/** The simulated graph with the simulated robot in it, from its `start` to its `stop`. */
export function createRobotGraph(options: SimulatedGraphOptions & { readonly random: () => number }): SimulatedGraph {
  return createSimulatedGraph({
    ...options,
    onStart: (peers) => startRobot(peers.node('/simulated_robot'), options.random),
  });
}
