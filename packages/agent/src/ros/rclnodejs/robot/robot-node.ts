import { decodeCdr, encodeCdr } from '@drover/shared/ros/cdr';
import { fromJson } from '@drover/shared/ros/from-json';
import type { RosMessage } from '@drover/shared/ros/values';
import { Definitions } from '../../definitions.js';
import { UnknownTypeError } from '../../graph.js';
import type { ActionHandlers, ServerGoal } from '../../simulated/actions.js';
import { every, systemClock } from '../../simulated/clock.js';
import { DEFAULT_QOS, type Qos } from '../../simulated/qos.js';
import type { NodeLogger, NodePublisher, RosNode, SubscribeOptions } from '../../simulated/ros-node.js';
import type { ServiceHandler } from '../../simulated/services.js';
import { QOS, type RclContext } from '../api.js';
import { topicType } from '../cdr-types.js';
import { amentDefinitions } from '../definitions.js';
import { loadRclnodejs } from '../load.js';
import { ANSWER, type RclServerGoal, type RclServingNode, type ServingRclnodejs } from './server-api.js';

/** How long the node waits in ROS at a time. */
const SPIN_TIMEOUT_MS = 10;

export interface RobotNodeOptions {
  /** Without its namespace, which is the root. */
  readonly name: string;
  /** Told of what a handler threw. Nothing may be thrown into native code, which would end the process. */
  readonly onFault: (where: string, error: unknown) => void;
  /** Default process.env. */
  readonly env?: NodeJS.ProcessEnv;
  /** Default ROS_DOMAIN_ID. */
  readonly domainId?: number;
}

/**
 * A node on real ROS 2 of which the simulated robot can be made: topics cross as CDR, as the agent's do; services and
 * actions, whose few fields are plain, by the classes that rclnodejs generates.
 */
export class RobotNode implements RosNode {
  readonly name: string;
  readonly #rcl: ServingRclnodejs;
  readonly #context: RclContext;
  readonly #node: RclServingNode;
  readonly #definitions: Definitions;
  readonly #onFault: RobotNodeOptions['onFault'];
  /** Type by name of the actions served: DDS knows a topic of a process as one type only. */
  readonly #actions = new Map<string, string>();
  readonly #timers = new Set<() => void>();

  private constructor(rcl: ServingRclnodejs, context: RclContext, options: RobotNodeOptions) {
    this.name = `/${options.name}`;
    this.#rcl = rcl;
    this.#context = context;
    this.#onFault = options.onFault;
    this.#definitions = new Definitions(amentDefinitions(options.env ?? process.env));
    const parts = { startParameterServices: false, startTypeDescriptionService: false, enableRosout: true };
    this.#node = new rcl.Node(options.name, '', context, parts) as RclServingNode;
    this.#node.spin(SPIN_TIMEOUT_MS);
  }

  /** @throws RclnodejsUnavailableError, and what ROS does */
  static async join(options: RobotNodeOptions): Promise<RobotNode> {
    const rcl = loadRclnodejs(options.env ?? process.env) as ServingRclnodejs;
    const context = new rcl.Context(options.domainId === undefined ? undefined : BigInt(options.domainId));
    await rcl.init(context, []);
    return new RobotNode(rcl, context, options);
  }

  /** Leaves ROS. Not to be called within a handler. */
  leave(): void {
    for (const stop of this.#timers) stop();
    this.#context.shutdown();
  }

  now(): number {
    return Date.now();
  }

  every(periodMs: number, tick: (elapsedMs: number) => void): () => void {
    const end = every(systemClock, periodMs, (elapsedMs) =>
      this.#caught(`a timer of ${this.name}`, () => tick(elapsedMs)),
    );
    const stop = () => {
      this.#timers.delete(stop);
      end();
    };
    this.#timers.add(stop);
    return stop;
  }

  async publisher(topic: string, type: string, qos: Partial<Qos> = {}): Promise<NodePublisher> {
    const { message: schema } = await this.#definitions.getOf('msg', type);
    const publisher = this.#node.createPublisher(topicType(type), topic, { qos: this.#qos(qos) });
    return {
      get isHeard() {
        return publisher.subscriptionCount > 0;
      },
      get subscriberCount() {
        return publisher.subscriptionCount;
      },
      // A copy: rclnodejs publishes the whole of the memory that a view is of.
      publish: (message) => publisher.publish(Buffer.from(encodeCdr(schema, fromJson(schema, message, 'message')))),
      close: () => this.#node.destroyPublisher(publisher),
    };
  }

  async subscribe(
    topic: string,
    type: string,
    onMessage: (message: RosMessage) => void,
    { atOnce: _, ...qos }: SubscribeOptions = {},
  ): Promise<() => void> {
    const { message: schema } = await this.#definitions.getOf('msg', type);
    const where = `the subscription of ${this.name} to ${topic}`;
    const options = { qos: this.#qos(qos), isRaw: true } as const;
    const subscription = this.#node.createSubscription(topicType(type), topic, options, (cdr) =>
      this.#caught(where, () => onMessage(decodeCdr(schema, cdr))),
    );
    return () => this.#node.destroySubscription(subscription);
  }

  async service(name: string, type: string, handler: ServiceHandler): Promise<() => void> {
    await this.#definitions.getOf('srv', type);
    const service = this.#node.createService(type, name, {}, (request, response) => {
      const answer = async () => response.send(await handler(request));
      answer().catch((error) => this.#onFault(`the service server at ${name}`, error));
    });
    return () => this.#node.destroyService(service);
  }

  /** A name is served as one type, the first: a second one is left out, for DDS does not take it. */
  async actionServer(name: string, type: string, handlers: ActionHandlers): Promise<() => void> {
    await this.#definitions.getOf('action', type);
    if (this.#actions.has(name)) return () => {};
    const { Feedback, Result } = this.#typeOf(type);
    const cancels = new Map<string, AbortController>();
    const execute = async (handle: RclServerGoal): Promise<object> => {
      const id = idOf(handle);
      const cancel = new AbortController();
      cancels.set(id, cancel);
      const goal: ServerGoal = {
        id: handle.goalId.uuid,
        goal: handle.request.toPlainObject(false),
        canceled: cancel.signal,
        feedback: (feedback) => handle.publishFeedback(Object.assign(new Feedback(), feedback)),
      };
      try {
        const { status, result } = await handlers.execute(goal);
        if (status === 'succeeded') handle.succeed();
        else if (status === 'canceled') handle.canceled();
        else handle.abort();
        return Object.assign(new Result(), result);
      } catch (error) {
        this.#onFault(`the action server at ${name}`, error);
        if (handle.isActive) handle.abort();
        return new Result();
      } finally {
        cancels.delete(id);
      }
    };
    const onCancel = (handle: RclServerGoal): number => {
      const cancel = cancels.get(idOf(handle));
      if (cancel === undefined) return ANSWER.reject;
      // The goal may only end as canceled once rclnodejs has noted the cancel, after this answer.
      setImmediate(() => this.#caught(`the action server at ${name}`, () => cancel.abort()));
      return ANSWER.accept;
    };
    const accept = () => ANSWER.accept;
    const server = new this.#rcl.ActionServer(this.#node, type, name, execute, accept, undefined, onCancel);
    this.#actions.set(name, type);
    return () => {
      this.#actions.delete(name);
      server.destroy();
    };
  }

  async logger(): Promise<NodeLogger> {
    const log = this.#node.getLogger();
    // The methods as they are: a function around them would be the place that a record names.
    return {
      debug: log.debug.bind(log),
      info: log.info.bind(log),
      warn: log.warn.bind(log),
      error: log.error.bind(log),
      fatal: log.fatal.bind(log),
    };
  }

  #typeOf(type: string) {
    try {
      return this.#rcl.require(type);
    } catch (cause) {
      throw new UnknownTypeError(type, { cause });
    }
  }

  #qos(asked: Partial<Qos>): object {
    const { reliability, durability, depth } = { ...DEFAULT_QOS, ...asked };
    return new this.#rcl.QoS(
      QOS.keepLast,
      depth,
      reliability === 'reliable' ? QOS.reliable : QOS.bestEffort,
      durability === 'transient_local' ? QOS.transientLocal : QOS.volatile,
    );
  }

  #caught(where: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#onFault(where, error);
    }
  }
}

function idOf({ goalId }: RclServerGoal): string {
  return Buffer.from(goalId.uuid).toString('hex');
}
