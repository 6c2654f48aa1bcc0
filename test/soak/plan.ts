/** What the soak's robot publishes and how the cloud samples it, and the commands it is sent. */

export interface SoakStream {
  readonly topic: string;
  readonly type: string;
  /** Published so many times a second. */
  readonly hz: number;
  /** Sampled so many times a second. */
  readonly sampledHz: number;
  readonly reliability?: 'reliable' | 'best_effort';
  readonly durability?: 'volatile' | 'transient_local';
  readonly message?: Record<string, unknown>;
  /** Fields of bytes, and how many. */
  readonly fill?: Record<string, number>;
}

export interface SoakCommand {
  readonly interface: 'topic' | 'service' | 'action_send_goal';
  readonly name: string;
  readonly type: string;
  readonly payload: Record<string, unknown>;
}

const bestEffort = { reliability: 'best_effort' } as const;
const latched = { durability: 'transient_local' } as const;
const zeros = (length: number) => new Array<number>(length).fill(0.5);

/** Twenty, of mixed types, sizes, rates and QoS; the fastest ones are sampled far below what is published. */
export const STREAMS: readonly SoakStream[] = [
  { topic: '/counter', type: 'std_msgs/msg/Int64', hz: 50, sampledHz: 50, message: { data: '9007199254740993' } },
  { topic: '/chatter', type: 'std_msgs/msg/String', hz: 100, sampledHz: 1, message: { data: 'hello, wörld' } },
  { topic: '/speed', type: 'std_msgs/msg/Float64', hz: 20, sampledHz: 20, message: { data: 0.1 } },
  { topic: '/enabled', type: 'std_msgs/msg/Bool', hz: 1, sampledHz: 1, message: { data: true }, ...latched },
  { topic: '/mode', type: 'std_msgs/msg/UInt8', hz: 2, sampledHz: 2, message: { data: 255 }, ...latched },
  { topic: '/odom', type: 'nav_msgs/msg/Odometry', hz: 20, sampledHz: 10 },
  {
    topic: '/scan',
    type: 'sensor_msgs/msg/LaserScan',
    hz: 10,
    sampledHz: 5,
    message: { ranges: zeros(720) },
    ...bestEffort,
  },
  { topic: '/imu', type: 'sensor_msgs/msg/Imu', hz: 50, sampledHz: 5, ...bestEffort },
  { topic: '/battery_state', type: 'sensor_msgs/msg/BatteryState', hz: 1, sampledHz: 1, message: { percentage: 0.5 } },
  {
    topic: '/joint_states',
    type: 'sensor_msgs/msg/JointState',
    hz: 30,
    sampledHz: 10,
    message: { position: zeros(12) },
  },
  { topic: '/fix', type: 'sensor_msgs/msg/NavSatFix', hz: 5, sampledHz: 5, ...bestEffort },
  { topic: '/temperature', type: 'sensor_msgs/msg/Temperature', hz: 2, sampledHz: 1, ...bestEffort },
  { topic: '/image', type: 'sensor_msgs/msg/Image', hz: 5, sampledHz: 1, fill: { data: 100_000 } },
  { topic: '/points', type: 'sensor_msgs/msg/PointCloud2', hz: 5, sampledHz: 1, fill: { data: 60_000 }, ...bestEffort },
  { topic: '/map', type: 'nav_msgs/msg/OccupancyGrid', hz: 1, sampledHz: 1, ...latched },
  { topic: '/diagnostics', type: 'diagnostic_msgs/msg/DiagnosticArray', hz: 1, sampledHz: 1 },
  { topic: '/pose', type: 'geometry_msgs/msg/PoseStamped', hz: 10, sampledHz: 10 },
  { topic: '/wrench', type: 'geometry_msgs/msg/WrenchStamped', hz: 50, sampledHz: 2, ...bestEffort },
  { topic: '/nested', type: 'test_msgs/msg/MultiNested', hz: 2, sampledHz: 1 },
  { topic: '/wide', type: 'test_msgs/msg/WStrings', hz: 2, sampledHz: 2, message: { wstring_value: 'ä日' } },
];

const TWIST = { interface: 'topic', name: '/cmd_vel', type: 'geometry_msgs/msg/Twist' } as const;
const NUMBER = { interface: 'topic', name: '/cmd_number', type: 'test_msgs/msg/UnboundedSequences' } as const;
const TEXT = { interface: 'topic', name: '/cmd_text', type: 'std_msgs/msg/String' } as const;
const SWITCH = { interface: 'service', name: '/enable_motors', type: 'std_srvs/srv/SetBool' } as const;
const ECHO = { interface: 'service', name: '/echo', type: 'test_msgs/srv/BasicTypes' } as const;
const GOAL = { interface: 'action_send_goal', name: '/fibonacci', type: 'test_msgs/action/Fibonacci' } as const;

/** Sent in this order, round and round. */
export const COMMANDS: readonly SoakCommand[] = [
  { ...TWIST, payload: { linear: { x: 0.2 } } },
  { ...SWITCH, payload: { data: true } },
  { ...TEXT, payload: { data: 'go on' } },
  { ...GOAL, payload: { order: 5 } },
  { ...NUMBER, payload: { int64_values: ['9007199254740993', 1], string_values: ['a', 'ä'] } },
  { ...TWIST, payload: { angular: { z: -0.2 } } },
  { ...ECHO, payload: { int64_value: '9007199254740993', string_value: 'still here' } },
  { ...TEXT, payload: { data: 'x'.repeat(2000) } },
  { ...TWIST, payload: {} },
  { ...SWITCH, payload: { data: false } },
];
