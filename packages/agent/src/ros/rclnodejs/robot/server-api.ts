import type { RosMessage } from '@drover/shared/ros/values';
import type { RclNode, Rclnodejs } from '../api.js';

/** What of rclnodejs 2.2 a node that serves others uses, beyond what the agent does: the agent never serves anything. */
export interface ServingRclnodejs extends Rclnodejs {
  readonly ActionServer: new (
    node: RclNode,
    type: string,
    name: string,
    execute: (goal: RclServerGoal) => Promise<object>,
    onGoal: (goal: RosMessage) => number,
    onAccepted: undefined,
    onCancel: (goal: RclServerGoal) => number,
  ) => { destroy(): void };
  require(type: string): ReturnType<Rclnodejs['require']> & RclActionType;
}

/** What rclnodejs generates for an action. */
export interface RclActionType {
  readonly Feedback: new () => object;
  readonly Result: new () => object;
}

export interface RclServerGoal {
  readonly goalId: { readonly uuid: Uint8Array };
  readonly request: { toPlainObject(typedArrays: boolean): RosMessage };
  readonly isActive: boolean;
  publishFeedback(feedback: object): void;
  succeed(): void;
  abort(): void;
  canceled(): void;
}

export interface RclService {
  send(response: RosMessage): void;
}

/** A node that serves. */
export interface RclServingNode extends RclNode {
  createService(
    type: string,
    name: string,
    options: object,
    handler: (request: RosMessage, response: RclService) => void,
  ): unknown;
  destroyService(service: unknown): void;
  destroySubscription(subscription: unknown): void;
  getLogger(): RclLogger;
}

export type RclLogger = Readonly<Record<'debug' | 'info' | 'warn' | 'error' | 'fatal', (text: string) => boolean>>;

/** rclnodejs's answers to a goal and to a cancel. */
export const ANSWER = { accept: 2, reject: 1 } as const;
