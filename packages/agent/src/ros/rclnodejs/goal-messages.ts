import { type InterfaceDefinition, type MessageSchema, parseSchema } from '@drover/shared/ros/definitions';
import { splitTypeName } from '@drover/shared/ros/types';
import type { RosMessage } from '@drover/shared/ros/values';
import { RosError } from '../graph.js';

/** The messages in which an action's goal, result and feedback travel: ROS makes them, no definition file has them. */
export interface GoalSchemas {
  /** `{goal_id, goal}`. */
  readonly goal: MessageSchema;
  readonly result: MessageSchema;
  readonly feedback: MessageSchema;
  readResult(message: RosMessage): { status: number; result: RosMessage };
  readFeedback(message: RosMessage): RosMessage;
}

export function goalSchemas({
  type,
  goal,
  result,
  feedback,
}: Extract<InterfaceDefinition, { kind: 'action' }>): GoalSchemas {
  return {
    // A unique_identifier_msgs/UUID is 16 bytes, on the wire as here.
    goal: wrap(`${type}_SendGoal_Request`, 'uint8[16] goal_id', 'goal', goal),
    result: wrap(`${type}_GetResult_Response`, 'int8 status', 'result', result),
    feedback: wrap(`${type}_FeedbackMessage`, 'uint8[16] goal_id', 'feedback', feedback),
    readResult: (message) => ({ status: Number(message.status), result: part(message, 'result') }),
    readFeedback: (message) => part(message, 'feedback'),
  };
}

/** The word for a goal's final status (action_msgs/msg/GoalStatus); undefined for any other. */
export function goalStatus(status: number): 'succeeded' | 'canceled' | 'aborted' | undefined {
  return ({ 4: 'succeeded', 5: 'canceled', 6: 'aborted' } as const)[status as 4 | 5 | 6];
}

function wrap(type: string, first: string, field: string, body: MessageSchema): MessageSchema {
  const { pkg, name } = splitTypeName(body.type);
  const bodyName = `${pkg}/${name}`;
  return parseSchema(type, `${first}\n${bodyName} ${field}\n${'='.repeat(80)}\nMSG: ${bodyName}\n${body.text}`);
}

function part(message: RosMessage, field: string): RosMessage {
  const value = message[field];
  if (typeof value === 'object' && !Array.isArray(value) && !ArrayBuffer.isView(value)) return value;
  throw new RosError(`a goal's message without its ${field}`);
}
