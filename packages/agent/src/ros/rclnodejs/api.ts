/**
 * What of rclnodejs 2.2 the agent uses, as types of ours: the package is absent where it was installed without ROS, and
 * its types with it.
 */
export interface Rclnodejs {
  readonly Context: new (domainId?: bigint) => RclContext;
  readonly Node: new (name: string, namespace: string, context: RclContext, options: RclNodeOptions) => RclNode;
  readonly ActionClient: new (node: RclNode, type: ActionClass, name: string) => RclActionClient;
  /** Not meant to be made by others; the client it is made with asks for the goal that has this id. */
  readonly ClientGoalHandle: new (
    client: RclActionClient,
    goalId: GoalIdMessage,
    response: { accepted: boolean },
  ) => RclGoalHandle;
  readonly ActionUuid: { fromBytes(bytes: Uint8Array): { toMessage(): GoalIdMessage; toString(): string } };
  readonly QoS: new (history: number, depth: number, reliability: number, durability: number) => object;
  init(context: RclContext, argv: string[]): Promise<void>;
  /** Takes its SIGINT handler away, which would shut all contexts down. */
  removeSignalHandlers(): void;
  /** The class that was generated for a type. @throws where there is none. */
  require(type: string): GeneratedClass;
  getActionNamesAndTypes(node: RclNode): NamesAndTypes[];
  /** @throws where there is no such node (any more). */
  getActionServerNamesAndTypesByNode(node: RclNode, name: string, namespace: string): NamesAndTypes[];
  /** CDR of the C struct that `message.serialize()` points to. */
  serializeMessage(message: NativeMessage, type: MessageClass): Buffer;
  /** Makes a `type`, and reads the CDR into the C struct that its `toRawROS()` points to. */
  deserializeMessage(cdr: Buffer, type: MessageClass): NativeMessage;
}

export interface RclContext {
  shutdown(): void;
}

export interface RclNodeOptions {
  startParameterServices: boolean;
  startTypeDescriptionService: boolean;
  enableRosout: boolean;
}

export interface RclNode {
  /** Serves what is created on the node from now on, on a thread that wakes at least every `timeoutMs`. */
  spin(timeoutMs: number): void;
  /** Waits for what is ready, then takes at most one message of each subscription; only on a node that is not spun. */
  spinOnce(timeoutMs: number): void;
  /** What spinOnce does with what is ready: takes a message (an answer), where one is there, of each subscription (client) that has one of these handles. */
  execute(handles: readonly unknown[]): void;
  createPublisher(type: MessageClass, topic: string, options: { qos: object }): RclPublisher;
  destroyPublisher(publisher: RclPublisher): void;
  createSubscription(
    type: MessageClass,
    topic: string,
    options: { qos: object; isRaw: true },
    callback: (cdr: Buffer) => void,
  ): RclSubscription;
  createClient(type: ServiceClass, service: string): RclClient;
  destroyClient(client: RclClient): void;
  getNodeNamesAndNamespaces(): { name: string; namespace: string }[];
  getTopicNamesAndTypes(): NamesAndTypes[];
  /** Those with clients only among them. */
  getServiceNamesAndTypes(): NamesAndTypes[];
  /** What the node serves. @throws where there is no such node (any more). */
  getServiceNamesAndTypesByNode(name: string, namespace: string): NamesAndTypes[];
  getPublishersInfoByTopic(topic: string): AnnouncedEndpoint[];
  getSubscriptionsInfoByTopic(topic: string): AnnouncedEndpoint[];
  /** Servers of a service, whatever their type. */
  countServices(service: string): number;
  countPublishers(topic: string): number;
  countSubscribers(topic: string): number;
  destroy(): void;
}

/** One publisher or subscription of a topic. */
export interface TopicEndpoint {
  readonly node_name: string;
  readonly node_namespace: string;
  readonly topic_type: string;
  readonly endpoint_gid: readonly number[];
  /** Numbers of rmw's enums, see QOS. */
  readonly qos_profile: { readonly reliability: number; readonly durability: number };
}

/** The same with all of its QoS. */
export interface AnnouncedEndpoint extends TopicEndpoint {
  readonly qos_profile: TopicEndpoint['qos_profile'] & {
    readonly history: number;
    readonly depth: number;
    readonly liveliness: number;
    readonly deadline: RclDuration;
    readonly lifespan: RclDuration;
    readonly liveliness_lease_duration: RclDuration;
  };
}

export interface RclDuration {
  readonly seconds: number | bigint;
  readonly nanoseconds: number | bigint;
}

export interface NamesAndTypes {
  readonly name: string;
  readonly types: string[];
}

/** rmw's numbers of the QoS policies. */
export const QOS = {
  keepLast: 1,
  reliable: 1,
  bestEffort: 2,
  transientLocal: 1,
  volatile: 2,
} as const;

export interface RclPublisher {
  /** Publishes CDR as it stands. */
  publish(cdr: Buffer): void;
  /** False where that takes longer than so many nanoseconds. @throws where the middleware can't tell */
  waitForAllAcked(timeoutNs: bigint): boolean;
  readonly subscriptionCount: number;
}

export interface RclSubscription {
  readonly handle: unknown;
}

export interface RclClient {
  readonly handle: unknown;
  isServiceServerAvailable(): boolean;
  sendRequestAsync(request: NativeMessage, options: { signal: AbortSignal }): Promise<unknown>;
}

export interface RclActionClient {
  isActionServerAvailable(): boolean;
  sendGoal(goal: object, onFeedback: (feedback: unknown) => void, goalId: GoalIdMessage): Promise<RclGoalHandle>;
  /** By goal id as ActionUuid writes it. Private to rclnodejs: the only way to the feedback of a goal sent by another. */
  readonly _feedbackCallbacks: Map<string, (feedback: unknown) => void>;
  /** The same for goals under way, which rclnodejs lets go of when a status message tells their end. */
  readonly _goalHandles: Map<string, unknown>;
  destroy(): void;
}

export interface RclGoalHandle {
  isAccepted(): boolean;
  cancelGoal(): Promise<{ return_code: number; goals_canceling: unknown[] }>;
  getResult(): Promise<unknown>;
}

/** unique_identifier_msgs/msg/UUID as rclnodejs has it. */
export interface GoalIdMessage {
  readonly uuid: Uint8Array;
}

/** A message class as rclnodejs calls it; generated, or one of ours that keeps CDR (cdr-types.ts). */
export interface MessageClass {
  new (): NativeMessage;
  type(): TypeName;
}

export interface TypeName {
  readonly pkgName: string;
  readonly subFolder: string;
  readonly interfaceName: string;
}

export interface NativeMessage {
  /** The C struct to write into. */
  toRawROS(): Buffer;
  /** The C struct to read from. */
  serialize(): Buffer;
}

/** A message that rclnodejs fills from a C struct and hands to a callback. */
export interface ReceivedMessage extends NativeMessage {
  readonly refObject: unknown;
  deserialize(refObject: unknown): void;
  toPlainObject(): unknown;
}

export interface ReceivedClass {
  new (): ReceivedMessage;
  destroyRawROS(message: ReceivedMessage): void;
}

/** A function, for rclnodejs asks whether it is one. */
export interface ServiceClass {
  (): void;
  type(): TypeName;
  readonly Request: new (...args: never[]) => NativeMessage;
  readonly Response: ReceivedClass;
}

export interface ActionClass {
  (): void;
  type(): TypeName;
  readonly impl: {
    readonly SendGoalService: { readonly Request: new () => NativeMessage; readonly Response: unknown };
    readonly GetResultService: { readonly Request: unknown; readonly Response: ReceivedClass };
    readonly FeedbackMessage: ReceivedClass;
    readonly CancelGoal: unknown;
    readonly GoalStatusArray: unknown;
  };
}

/** What rclnodejs generates for a type; of a message, the layout of its C struct is what we use. */
export interface GeneratedClass {
  readonly refObjectType: { new (memory: Buffer): unknown; readonly size: number };
  freeStruct(refObject: unknown): void;
  /** Of an action only. */
  readonly impl: ActionClass['impl'];
}
