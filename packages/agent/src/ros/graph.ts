import type { GraphAnswer, ServerEndpoint, TopicEndpoint } from '@drover/shared/link/answers';
import type { InterfaceDefinition } from '@drover/shared/ros/definitions';
import type { RosMessage } from '@drover/shared/ros/values';
import type { NameResolver } from './name-resolution.js';

/**
 * The port between the agent's capabilities and a ROS 2 graph. Two implementations stand behind it (rclnodejs/,
 * simulated/) and one contract test (graph.contract.ts) runs on both, so nothing above knows which it has.
 *
 * Names are fully resolved (`/cmd_vel`, by `names`) and types are full (`geometry_msgs/msg/Twist`) by the time they come here;
 * values have been checked against the definition (shared/ros/values). Messages cross the port as CDR with its 4-byte
 * encapsulation header, both ways; services and actions as plain values, since rclnodejs has no raw path for them.
 */
export interface RosGraph {
  readonly kind: 'rclnodejs' | 'simulated';
  /** `jazzy`, `kilted`, …; null on the simulated graph. */
  readonly distro: string | null;
  /** How names from outside are to be resolved before they come here: by the namespace and the remaps of the agent's node. */
  readonly names: NameResolver;

  start(): Promise<void>;
  /** Ends every subscription and pending call (they reject with GraphStoppedError); safe to call twice. */
  stop(): Promise<void>;

  /**
   * The definition of a type (message, service or action) and of all it contains.
   * @throws UnknownTypeError where the graph has no such type.
   */
  describe(type: string): Promise<InterfaceDefinition>;

  /**
   * Publishes one serialised message. The first message of a new publisher waits up to `matchTimeoutMs` for a matched
   * subscriber, since DDS drops what is sent before discovery has matched. Rejects with the signal's reason, and publishes
   * nothing, where that has aborted by then.
   * @throws UnknownTypeError | QuarantinedError | RosError
   */
  publish(request: PublishRequest): Promise<{ matchedSubscribers: number }>;

  /**
   * Calls a service, in the order of the calls to it. Rejects with the signal's reason where that aborts it.
   * @throws NotReadyError | RosTimeoutError | UnknownTypeError | QuarantinedError | RosError
   */
  call(request: CallRequest): Promise<RosMessage>;

  /**
   * Sends a goal and returns once it is accepted. One that is accepted after the timeout is cancelled. Rejects with the
   * signal's reason where that aborts before the goal is sent.
   * @throws NotReadyError | GoalRejectedError | RosTimeoutError | UnknownTypeError | QuarantinedError | RosError
   */
  sendGoal(request: GoalRequest): Promise<GoalHandle>;

  /**
   * Takes up again a goal that was sent before, by this client or an earlier one, and returns once its server is there.
   * Never sends it: where the server does not know it, `result` rejects with ServerGoneError. Feedback is that which
   * comes from now on. Rejects with the signal's reason where that aborts before the server is there.
   * @throws NotReadyError | UnknownTypeError | RosError
   */
  resumeGoal(request: ResumeGoalRequest): Promise<GoalHandle>;

  /**
   * Takes serialised messages of a topic, QoS matched to its publishers. Messages are taken at `drainHz` (see
   * SubscribeRequest) and handed over in the order of their arrival.
   * @throws UnknownTypeError | QuarantinedError | RosError
   */
  subscribe(request: SubscribeRequest): Promise<Subscription>;

  /** The topics known now. */
  topics(): Promise<TopicInfo[]>;

  /** All that is known of the graph now. Like the two below it only looks: nothing appears on the graph for it. */
  survey(): Promise<GraphSurvey>;

  /** Who publishes and who subscribes to a topic now, the agent itself included. */
  endpointsOf(topic: string): Promise<{ publishers: TopicEndpoint[]; subscribers: TopicEndpoint[] }>;

  /** What serves a service or an action of that name now, under whatever type. */
  serversOf(kind: 'service' | 'action', name: string): Promise<ServerEndpoint[]>;
}

/** As the cloud is told it. */
export type GraphSurvey = GraphAnswer;

export interface PublishRequest {
  topic: string;
  type: string;
  cdr: Uint8Array;
  /** Transient local durability instead of volatile. */
  latched: boolean;
  matchTimeoutMs: number;
  /** The same while the graph has only just joined and may not have met the others yet. Default: no longer. */
  joiningTimeoutMs?: number;
  signal?: AbortSignal;
}

export interface CallRequest {
  service: string;
  type: string;
  request: RosMessage;
  /** How long to wait for the server to appear. */
  readyTimeoutMs: number;
  /** How long to wait for its answer. */
  timeoutMs: number;
  signal?: AbortSignal;
}

export interface GoalRequest {
  action: string;
  type: string;
  /** 16 bytes, chosen by the caller so that the goal can be found again. */
  goalId: Uint8Array;
  goal: RosMessage;
  readyTimeoutMs: number;
  /** How long to wait for the server's accept or reject. */
  acceptTimeoutMs: number;
  /** Heeded until the goal is sent, or its server found. */
  signal?: AbortSignal;
  onFeedback: (feedback: RosMessage) => void;
}

/** A goal's id is all that is needed to find it. */
export type ResumeGoalRequest = Omit<GoalRequest, 'goal' | 'acceptTimeoutMs'>;

export interface GoalHandle {
  /** Settles when the goal ends; rejects with GraphStoppedError, or with ServerGoneError where the server is gone for good. */
  readonly result: Promise<{ status: 'succeeded' | 'canceled' | 'aborted'; result: RosMessage }>;
  /**
   * Asks the server to cancel; the end still comes through `result`. Resolves with whether the server agreed.
   * @throws RosTimeoutError | GraphStoppedError
   */
  cancel(): Promise<boolean>;
}

export interface SubscribeRequest {
  topic: string;
  type: string;
  /** How often a second the subscription is drained; everything waiting is handed over at each drain. */
  drainHz: number;
  /** How many messages ROS keeps between two drains (history depth): the newest ones stay. */
  depth: number;
  /** Volatile even where publishers are transient local: for /rosout, whose history would arrive again after a restart. */
  ignoreHistory?: boolean;
  /**
   * Asked after each drain, also one that brought nothing, how soon the next is of use, in milliseconds: what comes meanwhile the
   * graph may leave where it is, and the newest `depth` stay. 0: as `drainHz` says.
   */
  restMs?: () => number;
  onMessage: (cdr: Uint8Array) => void;
}

export interface Subscription {
  /** Full name of the topic's only publishing node, or null. Cheap: cached by the implementation. */
  publisher(): string | null;
  /** Who publishes the topic, as of the last look. Cheap as well. */
  sight(): TopicSight;
  /** What was handed over is of no use: where it can, the graph gives back its memory at once, and the message is empty. */
  release?(cdr: Uint8Array): void;
  close(): Promise<void>;
}

/** What a subscription sees of its topic. */
export interface TopicSight {
  /** Publishers of the subscription's type. */
  readonly publishers: number;
  /**
   * Those among them that offer less than the subscription asks, which DDS connects not at all. The subscription follows
   * what it sees of them, so they are heard again soon; publishers that differ in what no graph shows (a DDS partition,
   * security, a data representation) are not among them.
   */
  readonly unheard: number;
  /** Types of the topic's other publishers, sorted: those can't be heard. */
  readonly otherTypes: readonly string[];
  /** What it asks of the publishers. */
  readonly qos: { readonly reliable: boolean; readonly transientLocal: boolean };
  /** Why nothing can be received at the moment, in the graph's words; null where nothing stands in the way. */
  readonly problem: string | null;
}

export interface TopicInfo {
  name: string;
  types: string[];
  publisherCount: number;
  subscriberCount: number;
}

/** No such type in this graph's packages. */
export class UnknownTypeError extends Error {
  override readonly name = 'UnknownTypeError';
  constructor(
    readonly type: string,
    options?: ErrorOptions,
    /** What was most likely meant. */
    near: string | null = null,
  ) {
    super(`no such ROS type here: ${type}${near === null ? '' : `; did you mean ${near}?`}`, options);
  }
}

/** No server of that service or action came up in time. */
export class NotReadyError extends Error {
  override readonly name = 'NotReadyError';
  constructor(
    readonly server: 'service' | 'action',
    readonly rosName: string,
    readonly waitedMs: number,
    /** What serves the name instead: another type, which is no server to ours. */
    others: readonly ServerEndpoint[] = [],
  ) {
    super(`no ${server} server at ${rosName} within ${waitedMs / 1000} s${otherTypesWords(others)}`);
  }
}

/** `; there is one of type X`, for what is there under another type than the one asked for; "" where nothing is. */
export function otherTypesWords(others: readonly { readonly type: string }[]): string {
  const types = [...new Set(others.map(({ type }) => type))].sort();
  return types.length === 0 ? '' : `; there is one of type ${types.join(' and one of ')}`;
}

/** The server did not answer in time. */
export class RosTimeoutError extends Error {
  override readonly name = 'RosTimeoutError';
  constructor(
    readonly rosName: string,
    readonly waitedMs: number,
  ) {
    super(`no answer from ${rosName} within ${waitedMs / 1000} s`);
  }
}

export class GoalRejectedError extends Error {
  override readonly name = 'GoalRejectedError';
  constructor(readonly action: string) {
    super(`the server at ${action} rejected the goal`);
  }
}

/**
 * The action server that accepted the goal is gone, or is a new one that does not know it: how the goal ended can't be
 * found out any more.
 */
export class ServerGoneError extends Error {
  override readonly name = 'ServerGoneError';
  constructor(readonly action: string) {
    super(`the server at ${action} is gone, and with it how the goal ended`);
  }
}

/** The graph was stopped while the work was under way. */
export class GraphStoppedError extends Error {
  override readonly name = 'GraphStoppedError';
  constructor() {
    super('the ROS graph was stopped');
  }
}

/**
 * Something of the graph whose handling in native code can end the process: what is subscribed to, published to, called,
 * or sent goals.
 */
export interface RosSource {
  readonly kind: 'subscription' | 'publisher' | 'service' | 'action';
  readonly name: string;
  readonly type: string;
}

/**
 * The source is not touched any more: handling it ended the agent's process again and again (quarantine/). Lasts until
 * an operator lifts it; the message says how.
 */
export class QuarantinedError extends Error {
  override readonly name = 'QuarantinedError';
  constructor(
    readonly source: RosSource,
    /** Epoch milliseconds of the robot's clock. */
    readonly sinceMs: number,
    readonly crashes: number,
    /** How the process ended the last time: `SIGABRT`, … */
    readonly lastEnd: string,
  ) {
    const { kind, name } = source;
    const stream = kind === 'subscription' ? 'disable its stream and enable it again, or ' : '';
    super(
      `the ${kind} ${name} is quarantined since ${new Date(sinceMs).toISOString()}: the agent died ${crashes} times ` +
        `while it was handled (at last of ${lastEnd}). To lift it, ${stream}stop the agent and start it again`,
    );
  }
}

/** What ROS itself refused, in its words. */
export class RosError extends Error {
  override readonly name = 'RosError';
}
