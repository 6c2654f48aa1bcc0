import { RosError } from '../graph.js';
import type { NativeGuard } from '../guard.js';
import type { RclContext, RclNode, Rclnodejs } from './api.js';

/** What the parts of the graph share while it runs. */
export interface Connection {
  readonly rcl: Rclnodejs;
  readonly context: RclContext;
  /** The agent's own, spun: publishers, clients and actions are on it, and what is known of the graph is asked of it. */
  readonly node: RclNode;
  /** Of that node and of all others of the agent. */
  readonly namespace: string;
  /** Aborts with GraphStoppedError when the graph stops. */
  readonly stopped: AbortSignal;
  readonly log: GraphLog;
  /** Milliseconds on a clock that never jumps. */
  readonly now: () => number;
  /** When the nodes joined, by `now`. */
  readonly joinedAtMs: number;
  /** Told of, and asked about, whatever is handed to native code. */
  readonly guard: NativeGuard;
  /** For tests that provoke a crash: called within native code with the name of what has just brought something. */
  readonly onNative?: (name: string) => void;
  /** Publishers, clients and action clients unused for this long are let go. */
  readonly idleMs: number;
}

/** Where the graph says what nobody waits for; a pino logger is one. */
export interface GraphLog {
  warn(fields: object, message: string): void;
}

/** There are at most so many publishers, clients and action clients, each. */
export const KEPT_MAX = 256;

/** ROS's own words for what did not work. */
export function rosError(what: string, cause: unknown): RosError {
  return new RosError(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
}
