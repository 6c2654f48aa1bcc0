import { z } from 'zod';
import { robotCheckName } from '../link/answers.js';
import { agentErrorCode, commandInterface } from '../link/command.js';
import { jsonObject, pageParameters, timestamp } from './fields.js';

/** created → sent (the agent has it on disk) → executed | error. */
export const commandState = z.enum(['created', 'sent', 'executed', 'error']);
export type CommandState = z.infer<typeof commandState>;

/** Why a command ended without its effect, or with an unknown one: what the cloud alone can say, and the robot's own codes. */
export const commandErrorCode = z.enum(['robot_not_provisioned', 'robot_not_online', ...agentErrorCode.options]);

/** How long a command may run where `timeout_s` says nothing, seconds. */
export const DEFAULT_TIMEOUT_S = { topic: 10, service: 30, action_send_goal: 3600 } as const;
export const TIMEOUT_S_MAX = 7 * 24 * 3600;
export const TTL_S_MAX = 7 * 24 * 3600;

export const createCommandBody = z
  .strictObject({
    interface: commandInterface.meta({ description: 'what kind of ROS interface the command acts on' }),
    name: z.string().meta({ description: 'name of the topic, service or action', example: '/cmd_vel' }),
    type: z.string().meta({ description: 'ROS interface type', example: 'geometry_msgs/msg/Twist' }),
    payload: jsonObject.meta({
      type: 'object',
      description: 'the message, the request or the goal; fields left out take the type’s defaults',
      example: { linear: { x: 0.2 } },
    }),
    timeout_s: z
      .number()
      .min(0.001)
      .max(TIMEOUT_S_MAX)
      .optional()
      .meta({ description: 'how long it may run: topic 10, service 30, action 3600 seconds where left out' }),
    ttl_s: z
      .number()
      .min(0)
      .max(TTL_S_MAX)
      .default(0)
      .meta({ description: 'how long it may wait for an offline robot, seconds; 0 = not at all' }),
    latched: z.boolean().default(false).meta({ description: 'topic only: publish transient local' }),
  })
  .meta({ id: 'CreateCommand' });
export type CreateCommandBody = z.infer<typeof createCommandBody>;

export const createdCommand = z.strictObject({ uuid: z.uuid() }).meta({ id: 'CreatedCommand' });

/** What a dry run looks at: that the command can be delivered, then what the robot sees of it. */
export const commandCheckName = z.enum(['robot_provisioned', 'robot_online', ...robotCheckName.options]);

export const commandCheck = z
  .strictObject({
    ok: z.boolean().meta({ description: 'whether every check is' }),
    checks: z.array(
      z.strictObject({ name: commandCheckName, ok: z.boolean(), message: z.string() }).meta({ id: 'Check' }),
    ),
  })
  .meta({ id: 'CommandCheck' });
export type CommandCheck = z.infer<typeof commandCheck>;

const commandFields = {
  uuid: z.uuid(),
  state: commandState,
  /** Non-null exactly where state is `error`. */
  error_code: commandErrorCode.nullable(),
  interface: commandInterface,
  name: z.string(),
  type: z.string(),
  payload: z.record(z.string(), z.unknown()),
  created_at: timestamp,
};

/** As a robot's own list has it. */
export const robotCommand = z.strictObject(commandFields).meta({ id: 'RobotCommand' });
export type RobotCommand = z.infer<typeof robotCommand>;

/** As the global list and the single read have it. */
export const command = z.strictObject({ ...commandFields, robot_id: z.string() }).meta({ id: 'Command' });
export type Command = z.infer<typeof command>;

export const commandOutcome = z
  .strictObject({
    uuid: z.uuid(),
    state: commandState,
    error_code: commandErrorCode.nullable(),
    error_message: z.string().nullable().meta({ description: 'the error in words, or a remark on a success' }),
    result: z
      .unknown()
      .meta({ description: 'response, action result, or {matched_subscribers}; null where there is none' }),
    feedback: z.unknown().meta({ description: 'the action’s last feedback, or null' }),
    created_at: timestamp,
    sent_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'CommandOutcome' });
export type CommandOutcome = z.infer<typeof commandOutcome>;

export const listCommandsQuery = z.object({
  ...pageParameters,
  state: z.string().optional().meta({ description: 'only commands in this state' }),
  interface: z.string().optional().meta({ description: 'only commands on this kind of interface' }),
  name: z.string().optional().meta({ description: 'only commands with this name, compared whole' }),
});
export type ListCommandsQuery = z.infer<typeof listCommandsQuery>;
