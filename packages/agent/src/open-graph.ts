import type { Logger } from 'pino';
import type { Config } from './config.js';
import type { RosGraph } from './ros/graph.js';
import type { NativeGuard } from './ros/guard.js';
import { NameResolver } from './ros/name-resolution.js';

/** For tests: the names (comma-separated) of topics, services and actions at whose messages the process aborts, as ROS might. */
const ABORT_ON = 'DROVER_TEST_ABORT_ON';
/** For tests: where the simulated robot's probe writes what happens to it (simulated/robot/probe.ts). */
const PROBE = 'DROVER_TEST_PROBE';

/** For tests: topics of the simulated robot that carry much, as ros/simulated/load.ts reads them. */
const LOAD = 'DROVER_TEST_LOAD';

/**
 * The ROS graph the settings ask for, not started. Only the one that is used is loaded.
 * @param guard of what crosses into native code, which the simulated graph has none of.
 */
export async function openGraph(
  { ros, rosNamespace, rosRemap }: Pick<Config, 'ros' | 'rosNamespace' | 'rosRemap'>,
  guard: NativeGuard,
  log: Logger,
): Promise<RosGraph> {
  const names = new NameResolver(rosNamespace, rosRemap);
  const rosLog = log.child({ part: 'ros' });
  if (ros === 'rclnodejs') {
    const { createRclnodejsGraph } = await import('./ros/rclnodejs/graph.js');
    const abortOn = process.env[ABORT_ON]?.split(',');
    const onNative = (name: string) => {
      if (abortOn?.includes(name)) process.abort();
    };
    return createRclnodejsGraph({ names, log: rosLog, guard, ...(abortOn ? { onNative } : {}) });
  }
  const { createRobotGraph } = await import('./ros/simulated/robot-graph.js');
  const { readLoad } = await import('./ros/simulated/load.js');
  const load = process.env[LOAD];
  return createRobotGraph({
    ...(load ? { load: readLoad(load) } : {}),
    names,
    random: Math.random,
    probeFile: process.env[PROBE],
    onFault: (where, error) => rosLog.error({ err: error, where }, 'an error in the simulated robot'),
  });
}
