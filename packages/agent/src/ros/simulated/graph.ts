import type { ServerEndpoint, TopicEndpoint } from '@drover/shared/link/answers';
import { commonDefinitions, commonTypes } from '@drover/shared/ros/common';
import type { DefinitionSource, InterfaceDefinition } from '@drover/shared/ros/definitions';
import type { RosMessage } from '@drover/shared/ros/values';
import { Definitions } from '../definitions.js';
import type {
  CallRequest,
  GoalHandle,
  GoalRequest,
  GraphSurvey,
  PublishRequest,
  ResumeGoalRequest,
  RosGraph,
  SubscribeRequest,
  Subscription,
  TopicInfo,
} from '../graph.js';
import { type NameResolver, ROOT_NAMES } from '../name-resolution.js';
import type { ListedSource } from '../nearest-type.js';
import { Actions } from './actions.js';
import { Changes } from './changes.js';
import { every, type SimulatedClock, systemClock } from './clock.js';
import { CommandPublishers } from './command-publishers.js';
import type { OnFault } from './fault.js';
import { InboundQueue } from './inbound-queue.js';
import { type NodeParts, SimulatedNode } from './node.js';
import { Services } from './services.js';
import { surveyOf } from './survey.js';
import { following, Topics } from './topics.js';

const COMMON: ListedSource = {
  read: (type) => commonDefinitions.read(type),
  names: async (pkg, kind) => {
    const folder = `${pkg}/${kind}/`;
    return commonTypes().flatMap((type) => (type.startsWith(folder) ? [type.slice(folder.length)] : []));
  },
  packages: async () => [...new Set(commonTypes().map((type) => type.slice(0, type.indexOf('/'))))],
};

export interface SimulatedGraphOptions {
  readonly clock?: SimulatedClock;
  /** Default: the root namespace, no remaps. */
  readonly names?: NameResolver;
  /** Told of errors in code that the graph called (handlers, subscribers); the graph goes on. */
  readonly onFault: OnFault;
  /** Default: ROS's common packages. */
  readonly definitions?: DefinitionSource | ListedSource;
  /** Brings other nodes to life; `start` waits for it. */
  readonly onStart?: (peers: SimulatedPeers) => Promise<void>;
}

/** The graph as other nodes see it. */
export interface SimulatedPeers {
  /** @param name full name, `/ns/name`. */
  node(name: string): SimulatedNode;
}

/**
 * A ROS graph in this process, behind the same port as the real one. Nothing of it outlives the process. `stop` ends
 * every wait with GraphStoppedError and takes all nodes out.
 */
export class SimulatedGraph implements RosGraph {
  readonly kind = 'simulated';
  readonly distro = null;
  readonly names: NameResolver;
  readonly peers: SimulatedPeers = { node: (name) => this.#node(name) };
  readonly #parts: NodeParts;
  readonly #changes: Changes;
  readonly #publishers: CommandPublishers;
  readonly #closers = new Set<() => void>();
  /** Full names of the other nodes. */
  readonly #nodes = new Set<string>();
  readonly #onStart: ((peers: SimulatedPeers) => Promise<void>) | undefined;
  #started: Promise<void> | null = null;

  constructor(options: SimulatedGraphOptions) {
    const { clock = systemClock, names = ROOT_NAMES, onFault, definitions = COMMON } = options;
    this.names = names;
    this.#changes = new Changes(clock);
    const topics = new Topics(this.#changes);
    this.#parts = {
      clock,
      onFault,
      topics,
      definitions: new Definitions(definitions),
      services: new Services(this.#changes, onFault),
      actions: new Actions(this.#changes, onFault),
    };
    this.#onStart = options.onStart;
    this.#publishers = new CommandPublishers(names.node, topics, this.#changes);
  }

  async start(): Promise<void> {
    this.#changes.check();
    this.#started ??= this.#onStart?.(this.peers) ?? Promise.resolve();
    await this.#started;
  }

  async stop(): Promise<void> {
    this.#changes.stop();
    for (const close of [...this.#closers]) close();
    this.#closers.clear();
    this.#publishers.close();
  }

  async describe(type: string): Promise<InterfaceDefinition> {
    this.#changes.check();
    return this.#parts.definitions.get(type);
  }

  async publish(request: PublishRequest): Promise<{ matchedSubscribers: number }> {
    this.#changes.check();
    await this.#parts.definitions.getOf('msg', request.type);
    return this.#publishers.publish(request);
  }

  async call(request: CallRequest): Promise<RosMessage> {
    this.#changes.check();
    return this.#parts.services.call(await this.#parts.definitions.getOf('srv', request.type), request);
  }

  async sendGoal(request: GoalRequest): Promise<GoalHandle> {
    this.#changes.check();
    return this.#parts.actions.send(await this.#parts.definitions.getOf('action', request.type), request);
  }

  async resumeGoal(request: ResumeGoalRequest): Promise<GoalHandle> {
    this.#changes.check();
    return this.#parts.actions.resume(await this.#parts.definitions.getOf('action', request.type), request);
  }

  async subscribe(request: SubscribeRequest): Promise<Subscription> {
    const { topic, type, drainHz, depth, ignoreHistory = false, restMs, onMessage } = request;
    const { clock, definitions, topics, onFault } = this.#parts;
    this.#changes.check();
    await definitions.getOf('msg', type);
    this.#changes.check();
    const queue = new InboundQueue(clock, depth, 1000 / drainHz, (cdr) => {
      try {
        onMessage(cdr);
      } catch (error) {
        onFault(`the agent's subscription to ${topic}`, error);
      }
    });
    // Never rests, but says that it has looked, as a graph does whose drains are all on time.
    const stopLooking = restMs
      ? every(clock, 1000 / drainHz, () => {
          queue.drain();
          restMs();
        })
      : () => {};
    const wish = following(depth, ignoreHistory);
    const unsubscribe = topics.subscribe(this.names.node, topic, type, wish, queue.push);
    const close = () => {
      unsubscribe();
      stopLooking();
      queue.close();
      this.#closers.delete(close);
    };
    this.#closers.add(close);
    return {
      publisher: () => topics.onlyPublisher(topic),
      sight: () => topics.sightOf(topic, type, wish),
      close: async () => close(),
    };
  }

  async topics(): Promise<TopicInfo[]> {
    this.#changes.check();
    return this.#parts.topics.list();
  }

  async survey(): Promise<GraphSurvey> {
    this.#changes.check();
    return surveyOf([this.names.node, ...this.#nodes], this.#parts);
  }

  async endpointsOf(topic: string): Promise<{ publishers: TopicEndpoint[]; subscribers: TopicEndpoint[] }> {
    this.#changes.check();
    return this.#parts.topics.endpointsOf(topic);
  }

  async serversOf(kind: 'service' | 'action', name: string): Promise<ServerEndpoint[]> {
    this.#changes.check();
    const { services, actions } = this.#parts;
    return kind === 'service' ? services.serversOf(name) : actions.serversOf(name);
  }

  #node(name: string): SimulatedNode {
    const node = new SimulatedNode(name, this.#parts, () => this.#nodes.delete(name));
    this.#nodes.add(name);
    this.#closers.add(() => node.destroy());
    return node;
  }
}

export function createSimulatedGraph(options: SimulatedGraphOptions): SimulatedGraph {
  return new SimulatedGraph(options);
}
