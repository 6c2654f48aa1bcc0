/** What ros2 makes of names: checked here by the resolver's own test, and on real ROS by asking rclpy the same. */
export interface NamingCase {
  readonly namespace: string;
  readonly remaps: readonly string[];
  /** Names, and what each is on the graph. */
  readonly names: Readonly<Record<string, string>>;
}

export const NAMING_CASES: readonly NamingCase[] = [
  {
    namespace: '/',
    remaps: [],
    names: { '/a': '/a', a: '/a', 'a/b': '/a/b', '~/a': '/drover_agent/a', '~': '/drover_agent' },
  },
  {
    namespace: '/fleet/r1',
    remaps: [],
    names: { '/a': '/a', a: '/fleet/r1/a', 'a/b': '/fleet/r1/a/b', '~/a': '/fleet/r1/drover_agent/a' },
  },
  {
    namespace: '/',
    remaps: ['cmd_vel:=/base/cmd_vel', '/odom:=/wheel/odom'],
    names: {
      cmd_vel: '/base/cmd_vel',
      '/cmd_vel': '/base/cmd_vel',
      'x/cmd_vel': '/x/cmd_vel',
      odom: '/wheel/odom',
      '/odom/raw': '/odom/raw',
      '/odom2': '/odom2',
    },
  },
  // Both sides are the node's: relative ones in its namespace.
  {
    namespace: '/r1',
    remaps: ['cmd_vel:=base/cmd_vel', '/scan:=front/scan', '~/mode:=~/state/mode'],
    names: {
      cmd_vel: '/r1/base/cmd_vel',
      '/r1/cmd_vel': '/r1/base/cmd_vel',
      '/cmd_vel': '/cmd_vel',
      '/scan': '/r1/front/scan',
      scan: '/r1/scan',
      '~/mode': '/r1/drover_agent/state/mode',
      'drover_agent/mode': '/r1/drover_agent/state/mode',
    },
  },
  // The first that fits wins, and what it makes is not remapped again.
  {
    namespace: '/',
    remaps: ['a:=/first', '/a:=/second', '/first:=/third', 'b:=a', 'p:=q', 'q:=p'],
    names: { a: '/first', first: '/third', b: '/a', p: '/q', q: '/p' },
  },
];
