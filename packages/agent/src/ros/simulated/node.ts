import { decodeCdr, encodeCdr } from '@drover/shared/ros/cdr';
import { fromJson } from '@drover/shared/ros/from-json';
import type { RosMessage } from '@drover/shared/ros/values';
import type { Definitions } from '../definitions.js';
import type { ActionHandlers, Actions } from './actions.js';
import { callSite } from './call-site.js';
import { every, type SimulatedClock } from './clock.js';
import type { OnFault } from './fault.js';
import { InboundQueue } from './inbound-queue.js';
import { DEFAULT_QOS, type Qos, ROSOUT_QOS } from './qos.js';
import {
  LOG_SEVERITY,
  type LogSeverity,
  type NodeLogger,
  type NodePublisher,
  type RosNode,
  rosTime,
  type SubscribeOptions,
} from './ros-node.js';
import type { ServiceHandler, Services } from './services.js';
import type { Topics } from './topics.js';

/** What a node of this graph is made of. */
export interface NodeParts {
  readonly clock: SimulatedClock;
  readonly definitions: Definitions;
  readonly topics: Topics;
  readonly services: Services;
  readonly actions: Actions;
  readonly onFault: OnFault;
}

/**
 * Another node in the simulated graph: what lives beside the agent there, as rclpy or rclcpp nodes do on ROS. Messages
 * are plain objects, checked against their types; absent fields take the type's defaults.
 */
export class SimulatedNode implements RosNode {
  readonly #parts: NodeParts;
  readonly #closers = new Set<() => void>();
  readonly #onDestroy: () => void;
  #destroyed = false;

  /**
   * @param name full name, `/ns/name`.
   * @param onDestroy called when it leaves the graph.
   */
  constructor(
    readonly name: string,
    parts: NodeParts,
    onDestroy: () => void = () => {},
  ) {
    this.#parts = parts;
    this.#onDestroy = onDestroy;
  }

  /** @throws UnknownTypeError */
  async publisher(topic: string, type: string, qos: Partial<Qos> = {}): Promise<NodePublisher> {
    const { message: schema } = await this.#parts.definitions.getOf('msg', type);
    const publisher = this.#parts.topics.advertise(this.name, topic, type, { ...DEFAULT_QOS, ...qos });
    const close = this.#closer(() => publisher.close());
    return {
      get isHeard() {
        return publisher.isHeard;
      },
      get subscriberCount() {
        return publisher.matched.length;
      },
      publish: (message) => {
        if (publisher.isHeard) publisher.publish(encodeCdr(schema, fromJson(schema, message, 'message')));
      },
      close,
    };
  }

  /**
   * @returns what ends the subscription.
   * @throws UnknownTypeError
   */
  async subscribe(
    topic: string,
    type: string,
    onMessage: (message: RosMessage) => void,
    { atOnce = false, ...qos }: SubscribeOptions = {},
  ): Promise<() => void> {
    const { clock, definitions, topics, onFault } = this.#parts;
    const { message: schema } = await definitions.getOf('msg', type);
    const asked = { ...DEFAULT_QOS, ...qos };
    const take = (cdr: Uint8Array) => {
      try {
        onMessage(decodeCdr(schema, cdr));
      } catch (error) {
        onFault(`the subscription of ${this.name} to ${topic}`, error);
      }
    };
    const queue = new InboundQueue(clock, asked.depth, 0, take);
    const unsubscribe = topics.subscribe(this.name, topic, type, asked, atOnce ? take : queue.push);
    return this.#closer(() => {
      unsubscribe();
      queue.close();
    });
  }

  /**
   * @returns what takes the server away.
   * @throws UnknownTypeError
   */
  async service(name: string, type: string, handler: ServiceHandler): Promise<() => void> {
    const { response } = await this.#parts.definitions.getOf('srv', type);
    const complete = async (request: RosMessage) => fromJson(response, await handler(request), 'response');
    return this.#closer(this.#parts.services.serve(this.name, name, type, complete));
  }

  /**
   * @returns what takes the server away; its goals end for their clients then.
   * @throws UnknownTypeError
   */
  async actionServer(name: string, type: string, handlers: ActionHandlers): Promise<() => void> {
    await this.#parts.definitions.getOf('action', type);
    return this.#closer(this.#parts.actions.serve(this.name, name, type, handlers));
  }

  /** Its records name the function, file and line that call it. */
  async logger(): Promise<NodeLogger> {
    const rosout = await this.publisher('/rosout', 'rcl_interfaces/msg/Log', ROSOUT_QOS);
    const logAt = (severity: LogSeverity) => (text: string) => {
      const nowMs = this.#parts.clock.now();
      rosout.publish({
        stamp: rosTime(nowMs),
        level: LOG_SEVERITY[severity],
        name: this.name.slice(1).replaceAll('/', '.'),
        msg: text,
        ...callSite(1),
      });
    };
    return {
      debug: logAt('debug'),
      info: logAt('info'),
      warn: logAt('warn'),
      error: logAt('error'),
      fatal: logAt('fatal'),
    };
  }

  now(): number {
    return this.#parts.clock.now();
  }

  /** Runs `tick` each period, without drift, until the node is destroyed. */
  every(periodMs: number, tick: (elapsedMs: number) => void): () => void {
    return this.#closer(
      every(this.#parts.clock, periodMs, (elapsedMs) => {
        try {
          tick(elapsedMs);
        } catch (error) {
          this.#parts.onFault(`a timer of ${this.name}`, error);
        }
      }),
    );
  }

  /** Takes all of the node out of the graph; what is made on it from then on is gone at once. */
  destroy(): void {
    if (!this.#destroyed) this.#onDestroy();
    this.#destroyed = true;
    for (const close of [...this.#closers]) close();
  }

  #closer(close: () => void): () => void {
    const once = () => {
      if (this.#closers.delete(once)) close();
    };
    this.#closers.add(once);
    if (this.#destroyed) once();
    return once;
  }
}
