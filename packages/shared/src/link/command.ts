import { z } from 'zod';
import { epochMs, json, jsonObject, sequence, uuid } from './fields.js';

export const commandInterface = z.enum(['topic', 'service', 'action_send_goal']);
export type CommandInterface = z.infer<typeof commandInterface>;

/**
 * Down: run this, at most once. The agent writes it to its inbox before it answers `command_taken`; one already there
 * is answered from the inbox. The cloud sends it again after a reconnect, to the same inbox only.
 */
export const command = z.object({
  kind: z.literal('command'),
  uuid,
  interface: commandInterface,
  name: z.string(),
  type: z.string(),
  payload: jsonObject,
  /**
   * Past this moment of the *cloud's* clock the agent refuses it as `expired`. A deadline, not a duration: a frame that
   * sat in a stalled socket must count the time it sat. `life_ms` is what was left of it when this frame was written,
   * for an agent that has no estimate of the cloud's clock yet.
   */
  deadline_cloud_ms: epochMs,
  life_ms: z.number(),
  /** How long it may run once taken, milliseconds. */
  timeout_ms: z.int().positive(),
  /** Topic only: publish transient local. */
  latched: z.boolean(),
});
export type Command = z.infer<typeof command>;

/** The version of the inbox's file when this was said: it is no lower in any state of the file that came after. */
const inboxVersion = sequence.optional();

/**
 * Up: the command is on the agent's disk. `seq` is its number in that inbox. Said again when one that waited is started,
 * for the version: a copy of the inbox in which it still waits is an old one from then on.
 */
export const commandTaken = z.object({
  kind: z.literal('command_taken'),
  uuid,
  seq: sequence,
  inbox_version: inboxVersion,
});
export type CommandTaken = z.infer<typeof commandTaken>;

/** Down: stop it if it waits or is a goal; an outcome follows as for every command. */
export const commandCancel = z.object({ kind: z.literal('command_cancel'), uuid });
export type CommandCancel = z.infer<typeof commandCancel>;

/** Up: an action's latest feedback. Not kept on the robot's disk: the outcome carries the last one. */
export const commandFeedback = z.object({ kind: z.literal('command_feedback'), uuid, feedback: json });
export type CommandFeedback = z.infer<typeof commandFeedback>;

/** Error codes with which an agent may end a command. */
export const agentErrorCode = z.enum([
  'expired',
  'not_allowed',
  'invalid_type',
  'invalid_payload',
  'service_not_ready',
  'action_server_not_ready',
  'goal_rejected',
  'goal_aborted',
  'goal_canceled',
  'canceled',
  'timeout',
  'outcome_unknown',
  'robot_storage_failed',
  'internal_error',
]);
export type AgentErrorCode = z.infer<typeof agentErrorCode>;

/** Up: how a command ended. Kept in the inbox and sent until `outcome_ack`ed; the cloud takes the first one it sees. */
export const commandOutcome = z.object({
  kind: z.literal('command_outcome'),
  uuid,
  state: z.enum(['executed', 'error']),
  /** Null exactly where state is `executed`. */
  error_code: agentErrorCode.nullable(),
  /** The reason in words; for `executed` a remark (nobody subscribed) or null. */
  message: z.string().max(4096).nullable(),
  /** The service's response, the action's result, `{matched_subscribers}` of a topic; null where there is none. */
  result: json,
  /** An action's last feedback, or null. */
  feedback: json,
  /** The robot's clock when it ended. */
  finished_robot_ms: epochMs,
  inbox_version: inboxVersion,
});
export type CommandOutcome = z.infer<typeof commandOutcome>;

/** Down: the outcome is stored durably and need not be sent again. */
export const outcomeAck = z.object({ kind: z.literal('outcome_ack'), uuid });
export type OutcomeAck = z.infer<typeof outcomeAck>;
