/** What becomes of a new command, by what is known of its robot. */

/** With ttl 0, a command not in the agent's hands this long after its POST is expired. */
export const DELIVERY_MS = 5_000;

/** How many commands may wait for a robot that is offline. */
export const WAITING_MAX = 100;

/** How many commands a robot that is connected may leave untaken: more than it takes within a command's five seconds. */
export const UNTAKEN_MAX = 500;

/** What a POST asked for, checked and with its defaults. */
export interface CommandRequest {
  interface: 'topic' | 'service' | 'action_send_goal';
  name: string;
  type: string;
  payload: Record<string, unknown>;
  timeoutMs: number;
  /** How long it may wait for an offline robot, milliseconds; 0 = not at all. */
  ttlMs: number;
  latched: boolean;
}

/** What the store says of the robot when the command comes. */
export interface RobotReach {
  provisioned: boolean;
  online: boolean;
  inboxId: string | undefined;
  /** Commands that already wait for it; where it has a session, those it has not taken. */
  waiting: number;
}

export type Admission =
  | { kind: 'accept'; inboxId: string | null; lifeMs: number }
  | { kind: 'end'; errorCode: 'robot_not_provisioned' | 'robot_not_online'; message: string }
  | { kind: 'queue_full' };

/** Decides what becomes of a new command. */
export function admit(request: Pick<CommandRequest, 'ttlMs'>, reach: RobotReach): Admission {
  if (!reach.provisioned) {
    return {
      kind: 'end',
      errorCode: 'robot_not_provisioned',
      message: 'no agent has connected with this robot’s token yet',
    };
  }
  const lifeMs = request.ttlMs > 0 ? request.ttlMs : DELIVERY_MS;
  if (reach.inboxId !== undefined) {
    if (reach.waiting >= UNTAKEN_MAX) return { kind: 'queue_full' };
    return { kind: 'accept', inboxId: reach.inboxId, lifeMs };
  }
  // A robot whose connection broke a moment ago still counts as online: its command waits out the delivery time.
  if (reach.online || request.ttlMs > 0) {
    return reach.waiting >= WAITING_MAX ? { kind: 'queue_full' } : { kind: 'accept', inboxId: null, lifeMs };
  }
  return {
    kind: 'end',
    errorCode: 'robot_not_online',
    message: 'the robot is offline; ttl_s lets a command wait for it',
  };
}
