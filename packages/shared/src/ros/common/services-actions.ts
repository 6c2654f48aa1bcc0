/**
 * Services and actions of ROS's common packages, which the table of common messages does not have (example_interfaces
 * and common_interfaces, Apache License 2.0).
 */
export const SERVICES_AND_ACTIONS: Readonly<Record<string, string>> = {
  'std_srvs/srv/Empty': '---',
  'std_srvs/srv/SetBool': 'bool data\n---\nbool success\nstring message',
  'std_srvs/srv/Trigger': '---\nbool success\nstring message',
  'example_interfaces/srv/AddTwoInts': 'int64 a\nint64 b\n---\nint64 sum',
  'example_interfaces/action/Fibonacci': 'int32 order\n---\nint32[] sequence\n---\nint32[] sequence',
};
