import type { RosMessage } from '@drover/shared/ros/values';
import type { Battery } from './battery.js';
import type { Motion } from './motion.js';

const OK = 0;
const WARN = 1;
const BATTERY_LOW = 0.2;

/** The `status` of a diagnostic_msgs/msg/DiagnosticArray. */
export function diagnosticStatus(motion: Motion, battery: Battery): RosMessage[] {
  const low = battery.ratio < BATTERY_LOW;
  return [
    {
      level: low ? WARN : OK,
      name: 'simulated_robot: battery',
      message: battery.charging ? 'charging' : low ? 'low' : 'ok',
      hardware_id: 'SIM-0001',
      values: [{ key: 'percentage', value: (battery.ratio * 100).toFixed(1) }],
    },
    {
      level: motion.enabled ? OK : WARN,
      name: 'simulated_robot: motors',
      message: motion.enabled ? 'enabled' : 'disabled',
      hardware_id: 'SIM-0001',
      values: [
        { key: 'linear m/s', value: motion.linear.toFixed(3) },
        { key: 'angular rad/s', value: motion.angular.toFixed(3) },
      ],
    },
    { level: OK, name: 'simulated_robot: lidar', message: 'ok', hardware_id: 'SIM-0001', values: [] },
  ];
}
