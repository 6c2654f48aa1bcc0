import type { RosMessage } from '@drover/shared/ros/values';
import type { ActionHandlers } from './actions.js';
import type { Qos } from './qos.js';
import type { ServiceHandler } from './services.js';

/**
 * What a node can do, on whichever graph it lives: the simulated robot is written against this and nothing else.
 * Messages are plain objects; absent fields take the type's defaults. Each method that takes a type throws
 * UnknownTypeError where the graph has no such type, and returns (or resolves with) what ends the thing it made.
 */
export interface RosNode {
  /** Full name, `/ns/name`. */
  readonly name: string;
  /** The node's clock, milliseconds since the epoch. */
  now(): number;
  /** Runs `tick` each period without drift; it is told the time since the tick before. */
  every(periodMs: number, tick: (elapsedMs: number) => void): () => void;
  publisher(topic: string, type: string, qos?: Partial<Qos>): Promise<NodePublisher>;
  subscribe(
    topic: string,
    type: string,
    onMessage: (message: RosMessage) => void,
    options?: SubscribeOptions,
  ): Promise<() => void>;
  service(name: string, type: string, handler: ServiceHandler): Promise<() => void>;
  actionServer(name: string, type: string, handlers: ActionHandlers): Promise<() => void>;
  logger(): Promise<NodeLogger>;
}

export interface SubscribeOptions extends Partial<Qos> {
  /** Within the call that publishes, without a queue: what was published has been heard, whatever becomes of the process then. */
  readonly atOnce?: boolean;
}

export interface NodePublisher {
  /** Whether anyone would receive a message published now: else it need not even be made. */
  readonly isHeard: boolean;
  /** Matched subscriptions. */
  readonly subscriberCount: number;
  /** @throws CdrError | PayloadError where the message is not of the topic's type. */
  publish(message: RosMessage): void;
  close(): void;
}

/** Severities of rcl_interfaces/msg/Log. */
export const LOG_SEVERITY = { debug: 10, info: 20, warn: 30, error: 40, fatal: 50 } as const;
export type LogSeverity = keyof typeof LOG_SEVERITY;

/** Log records of one node, on /rosout, each with the function, file and line that wrote it. */
export type NodeLogger = Readonly<Record<LogSeverity, (text: string) => void>>;

/** builtin_interfaces/Time of milliseconds since the epoch. */
export function rosTime(ms: number): { sec: number; nanosec: number } {
  const sec = Math.floor(ms / 1000);
  return { sec, nanosec: Math.floor((ms - sec * 1000) * 1e6) };
}
