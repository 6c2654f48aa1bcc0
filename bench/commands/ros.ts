import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { rosIsSourced } from '@drover/agent/dist/ros/rclnodejs/load.js';

export const TOPIC = '/cmd_vel';
/** For commands that go to several at once; the simulated robot listens to none of them. */
export const TOPICS: readonly string[] = Array.from({ length: 8 }, (_, n) => `${TOPIC}_${n}`);
const TYPE = 'geometry_msgs/msg/Twist';

/** As much of rclnodejs as the bare scripts use. */
interface BareNode {
  createPublisher(type: string, topic: string): { publish(message: unknown): void };
  createSubscription(type: string, topic: string, received: (message: unknown) => void): unknown;
  spin(): void;
}
interface BareRclnodejs {
  init(): Promise<void>;
  shutdown(): void;
  readonly Node: new (name: string) => BareNode;
}

/** Which graph the commands act on: rclnodejs must not be required where no ROS 2 is sourced. */
export const graph = rosIsSourced(process.env) ? 'rclnodejs' : 'simulated';

let rcl: BareRclnodejs | undefined;

/** A process that exits beside a node that spins crashes on its way. */
export function shutDown(): void {
  rcl?.shutdown();
}

async function node(name: string): Promise<BareNode> {
  const require = createRequire(import.meta.url);
  rcl = require(process.env.DROVER_RCLNODEJS || 'rclnodejs') as BareRclnodejs;
  await rcl.init();
  return new rcl.Node(name);
}

let last: unknown;

/** What the simulated robot does with a Twist. */
function keep(message: unknown): void {
  last = message;
}

/** Publishes as a script would that does nothing else, with a publisher for each topic. */
export async function barePublisher(): Promise<(topic: string, payload: object) => void> {
  if (graph === 'simulated') {
    const robot = new EventEmitter().on(TOPIC, keep);
    return (topic, payload) => void robot.emit(topic, payload);
  }
  const bare = await node('bare_publisher');
  const publishers = new Map([TOPIC, ...TOPICS].map((topic) => [topic, bare.createPublisher(TYPE, topic)]));
  bare.spin();
  return (topic, payload) => publishers.get(topic)?.publish(payload);
}

/** Somebody who hears what is published, and tells the last of it. */
export async function bareSubscriber(): Promise<() => unknown> {
  const bare = await node('bare_subscriber');
  for (const topic of [TOPIC, ...TOPICS]) bare.createSubscription(TYPE, topic, keep);
  bare.spin();
  return () => last;
}
