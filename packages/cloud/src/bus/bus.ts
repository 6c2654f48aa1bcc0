/**
 * What parts of the cloud tell each other about a robot, wherever its session is. An event says that something changed
 * and where to look; what must last is in the database before the event is published, so a lost event costs a delay,
 * never a fact.
 */
export interface BusEvents {
  /** The robot's desired state has a new revision. */
  desired_changed: { robotKey: number };
  /** The robot was deleted or its token rotated: its session must end. */
  robot_revoked: { robotKey: number };
  /** A command, or the cancel of one, waits for the robot. */
  command_waiting: { robotKey: number };
}

export type BusEventName = keyof BusEvents;

export interface Bus {
  start(): Promise<void>;
  stop(): Promise<void>;
  publish<N extends BusEventName>(name: N, event: BusEvents[N]): void;
  /** Returns the function that ends the subscription. Handlers must not throw. */
  subscribe<N extends BusEventName>(name: N, handler: (event: BusEvents[N]) => void): () => void;
}
