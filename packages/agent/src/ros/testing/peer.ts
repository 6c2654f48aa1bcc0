/**
 * What a test's other end on a ROS graph can do: a rclpy process on real ROS 2 (rclpy-peer.ts), an in-process node on
 * the simulated graph. Messages are JSON as shared/ros/to-json writes it: integers beyond 2^53 as decimal strings, NaN
 * and infinities as strings, byte[], char[] and uint8[] as base64.
 */
export interface GraphPeer {
  /** Full name of the peer's node, `/peer`. */
  readonly nodeName: string;
  /** Subscribes, reliable where not said otherwise; resolves once the subscription exists. */
  subscribe(options: PeerSubscribeOptions): Promise<PeerSubscription>;
  /** Makes a publisher, reliable, volatile and of depth 10 where not said otherwise. */
  advertise(options: PeerAdvertiseOptions): Promise<PeerPublisher>;
  /** A std_srvs/srv/SetBool that answers `{success: data, message: 'on' | 'off'}` after `delayMs` (default 0). */
  serveSetBool(name: string, options?: { delayMs?: number }): Promise<void>;
  /**
   * A test_msgs/action/Fibonacci: rejects an order above 40, aborts a negative one, else says the sequence so far (it
   * begins as [0, 1]) as feedback at each of `order - 1` steps, `stepMs` apart (default 20), and ends with
   * the sequence of `order + 1` numbers. Cancellable: it then ends canceled at its next step with the sequence so far.
   */
  serveFibonacci(name: string, options?: { stepMs?: number }): Promise<void>;
  /** Logs through the peer's node logger, so that a record appears on /rosout. */
  log(level: PeerLogLevel, text: string): Promise<unknown>;
  stop(): Promise<void>;
}

export type PeerLogLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal';

export interface PeerQos {
  reliability?: 'reliable' | 'best_effort';
  durability?: 'volatile' | 'transient_local';
  depth?: number;
}

export interface PeerSubscribeOptions extends PeerQos {
  topic: string;
  type: string;
}

export interface PeerAdvertiseOptions extends PeerQos {
  topic: string;
  type: string;
}

export interface PeerSubscription {
  /** Everything received so far, oldest first. */
  readonly received: readonly unknown[];
  /** The oldest message not yet taken by `next`, waited for. */
  next(): Promise<unknown>;
}

export interface PeerPublisher {
  /** Resolves when at least `count` (default 1) subscriptions are matched. */
  matched(count?: number): Promise<void>;
  publish(message: unknown): Promise<void>;
  /** Publishes `message` `count` times at `hz`; resolves when the last is out. */
  repeat(message: unknown, options: { count: number; hz: number }): Promise<void>;
  close(): Promise<void>;
}
