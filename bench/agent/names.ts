export const TOPIC_TYPE = 'geometry_msgs/msg/Twist';
export const SERVICE_TYPE = 'diagnostic_msgs/srv/AddDiagnostics';
/** Above the tests' own. */
export const ROS_ENV = { ROS_DOMAIN_ID: '93', ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST' };
export const SERVICE = '/bench/add';
export const topicOf = (n: number): string => `/bench/topic_${n}`;

/** So many at once, so often; the next ones when these are through, and a pause is over. */
export interface WaveOptions {
  readonly waves: number;
  readonly inFlight: number;
  readonly pauseMs: number;
}
