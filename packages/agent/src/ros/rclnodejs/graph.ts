import { setMaxListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { ServerEndpoint, TopicEndpoint } from '@drover/shared/link/answers';
import type { InterfaceDefinition } from '@drover/shared/ros/definitions';
import type { RosMessage } from '@drover/shared/ros/values';
import { AGENT_NODE_NAME } from '../agent-nodes.js';
import { Definitions } from '../definitions.js';
import {
  type CallRequest,
  type GoalHandle,
  type GoalRequest,
  GraphStoppedError,
  type GraphSurvey,
  type PublishRequest,
  type ResumeGoalRequest,
  type RosGraph,
  type SubscribeRequest,
  type Subscription,
  type TopicInfo,
} from '../graph.js';
import { type NativeGuard, UNGUARDED } from '../guard.js';
import { isHidden } from '../hidden.js';
import { type NameResolver, ROOT_NAMES } from '../name-resolution.js';
import { ServiceClients } from './clients.js';
import type { Connection, GraphLog } from './connection.js';
import { amentDefinitions } from './definitions.js';
import { ActionClients } from './goals.js';
import { loadRclnodejs } from './load.js';
import { Publishers } from './publishers.js';
import { Subscriptions } from './subscriptions.js';
import { endpointsOf, serversOf, surveyOf } from './survey.js';

/** How long the main node waits in ROS at a time: making or destroying anything on it blocks JavaScript for as long. */
const SPIN_TIMEOUT_MS = 10;
/** Publishers and clients unused for this long are let go. */
const IDLE_MS = 10 * 60_000;
/** How often what is idle is looked for. */
const SWEEP_MS = 60_000;

export interface RclnodejsGraphOptions {
  readonly log: GraphLog;
  /** Default: the root namespace, no remaps. */
  readonly names?: NameResolver;
  /** Default process.env: AMENT_PREFIX_PATH, ROS_DISTRO, DROVER_RCLNODEJS. */
  readonly env?: NodeJS.ProcessEnv;
  /** Default ROS_DOMAIN_ID. */
  readonly domainId?: number;
  /** Milliseconds on a clock that never jumps. */
  readonly now?: () => number;
  /** Default: nothing is noted, and everything let through. */
  readonly guard?: NativeGuard;
  /** See Connection. */
  readonly onNative?: (name: string) => void;
  /** Publishers and clients unused for this long, milliseconds, are let go; default 10 minutes. */
  readonly idleMs?: number;
}

/**
 * A graph on real ROS 2, through rclnodejs. It owns a ROS context and the nodes in it; `stop` gives all of it back.
 * Signals stay the program's own. An abort inside ROS ends the process: nothing that crosses here should cause one, and
 * the guard knows what did.
 */
export function createRclnodejsGraph(options: RclnodejsGraphOptions): RosGraph {
  return new RclnodejsGraph(options);
}

class RclnodejsGraph implements RosGraph {
  readonly kind = 'rclnodejs';
  readonly distro: string | null;
  readonly names: NameResolver;
  readonly #options: RclnodejsGraphOptions;
  readonly #definitions: Definitions;
  readonly #stopping = new AbortController();
  #parts: Parts | undefined;

  constructor(options: RclnodejsGraphOptions) {
    const env = options.env ?? process.env;
    this.#options = options;
    this.names = options.names ?? ROOT_NAMES;
    this.#definitions = new Definitions(amentDefinitions(env));
    this.distro = env.ROS_DISTRO ?? null;
    // One listener for each thing under way.
    setMaxListeners(0, this.#stopping.signal);
  }

  /** @throws RclnodejsUnavailableError, and what ROS does */
  async start(): Promise<void> {
    this.#stopping.signal.throwIfAborted();
    const { env = process.env, log, domainId, now = () => performance.now(), idleMs = IDLE_MS } = this.#options;
    const { guard = UNGUARDED, onNative } = this.#options;
    const rcl = loadRclnodejs(env);
    const context = new rcl.Context(domainId === undefined ? undefined : BigInt(domainId));
    // None of the program's arguments are for ROS.
    await rcl.init(context, []);
    const { namespace } = this.names;
    const node = new rcl.Node(AGENT_NODE_NAME, namespace, context, {
      startParameterServices: false,
      startTypeDescriptionService: false,
      enableRosout: false,
    });
    node.spin(SPIN_TIMEOUT_MS);
    const stopped = this.#stopping.signal;
    const guarded = { guard, ...(onNative ? { onNative } : {}) };
    const connection = { rcl, context, node, namespace, stopped, log, now, joinedAtMs: now(), idleMs, ...guarded };
    this.#parts = new Parts(connection, this.#definitions);
  }

  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort(new GraphStoppedError());
    // Not within a callback of rclnodejs, where shutting down ends the process.
    await setImmediate();
    this.#parts?.close();
  }

  async describe(type: string): Promise<InterfaceDefinition> {
    return this.#definitions.get(type);
  }

  async publish(request: PublishRequest): Promise<{ matchedSubscribers: number }> {
    return this.#running().publishers.publish(request);
  }

  async call(request: CallRequest): Promise<RosMessage> {
    return this.#running().clients.call(request);
  }

  async sendGoal(request: GoalRequest): Promise<GoalHandle> {
    return this.#running().actions.sendGoal(request);
  }

  async resumeGoal(request: ResumeGoalRequest): Promise<GoalHandle> {
    return this.#running().actions.resumeGoal(request);
  }

  async subscribe(request: SubscribeRequest): Promise<Subscription> {
    return this.#running().subscriptions.subscribe(request);
  }

  async topics(): Promise<TopicInfo[]> {
    return this.#running().topics();
  }

  async survey(): Promise<GraphSurvey> {
    return surveyOf(this.#running().connection);
  }

  async endpointsOf(topic: string): Promise<{ publishers: TopicEndpoint[]; subscribers: TopicEndpoint[] }> {
    return endpointsOf(this.#running().connection, topic);
  }

  async serversOf(kind: 'service' | 'action', name: string): Promise<ServerEndpoint[]> {
    return serversOf(this.#running().connection, kind, name);
  }

  #running(): Parts {
    this.#stopping.signal.throwIfAborted();
    if (this.#parts === undefined) throw new GraphStoppedError();
    return this.#parts;
  }
}

/** What a started graph has. */
class Parts {
  readonly publishers: Publishers;
  readonly clients: ServiceClients;
  readonly actions: ActionClients;
  readonly subscriptions: Subscriptions;
  readonly connection: Connection;
  readonly #sweep: NodeJS.Timeout;

  constructor(connection: Connection, definitions: Definitions) {
    this.connection = connection;
    this.publishers = new Publishers(connection, definitions);
    this.clients = new ServiceClients(connection, definitions);
    this.actions = new ActionClients(connection, definitions);
    this.subscriptions = new Subscriptions(connection, definitions);
    this.#sweep = setInterval(
      () => {
        for (const part of [this.publishers, this.clients, this.actions]) part.sweep();
      },
      Math.min(SWEEP_MS, connection.idleMs),
    ).unref();
  }

  /** Hidden topics, those of actions among them, are left out as `ros2 topic list` does. */
  topics(): TopicInfo[] {
    const { node } = this.connection;
    return node
      .getTopicNamesAndTypes()
      .filter(({ name }) => !isHidden(name))
      .map(({ name, types }) => ({
        name,
        types,
        publisherCount: node.countPublishers(name),
        subscriberCount: node.countSubscribers(name),
      }));
  }

  close(): void {
    clearInterval(this.#sweep);
    this.subscriptions.close();
    this.connection.context.shutdown();
  }
}
