import { z } from 'zod';
import { serverEndpoint, topicEndpoint } from '../link/answers.js';

const name = z.string().meta({ description: 'fully resolved name', example: '/cmd_vel' });
const types = z.array(z.string()).meta({ description: 'usually one; several where its ends disagree' });

const topic = z.strictObject({
  name,
  types,
  publisher_count: z.int().nonnegative(),
  subscriber_count: z.int().nonnegative(),
  publishers: z.array(topicEndpoint),
  subscribers: z.array(topicEndpoint),
});
const served = z.strictObject({
  name,
  types,
  servers: z.array(serverEndpoint).meta({ description: 'empty where there are only clients' }),
});

/** The ROS graph as the robot's agent sees it at the moment of the request. */
export const robotGraph = z
  .strictObject({
    nodes: z.array(z.string()),
    topics: z.array(topic),
    services: z.array(served),
    actions: z.array(served),
  })
  .meta({ id: 'RobotGraph' });
export type RobotGraph = z.infer<typeof robotGraph>;

/** One field and what it contains; shared/ros/field-tree.ts makes them. */
export const interfaceField = z
  .strictObject({
    name: z.string(),
    type: z.string().meta({ description: 'float64, string, … or the contained message', example: 'float64' }),
    array: z
      .strictObject({ length: z.int().nullable(), length_max: z.int().nullable() })
      .nullable()
      .meta({ description: 'null for a single value; both null: any number' }),
    string_length_max: z.int().nullable(),
    default: z.unknown().meta({ description: 'the default that the definition states, or null' }),
    get fields() {
      return z.array(interfaceField).nullable();
    },
  })
  .meta({ id: 'InterfaceField' });

const part = z
  .strictObject({
    type: z.string(),
    definition: z.string().meta({ description: 'its own definition, then those of all messages it contains' }),
    fields: z.array(interfaceField),
    example: z.record(z.string(), z.unknown()).meta({ description: 'every field with its default' }),
    json_schema: z
      .record(z.string(), z.unknown())
      .meta({ description: 'JSON Schema (2020-12) of what a payload may be and of what is shown' }),
  })
  .meta({ id: 'InterfacePart' });
export type InterfacePart = z.infer<typeof part>;

const type = z.string().meta({ example: 'geometry_msgs/msg/Twist' });

/** A ROS type as the robot has it. */
export const rosInterface = z
  .discriminatedUnion('kind', [
    z.strictObject({ type, kind: z.literal('msg'), message: part }),
    z.strictObject({ type, kind: z.literal('srv'), request: part, response: part }),
    z.strictObject({ type, kind: z.literal('action'), goal: part, result: part, feedback: part }),
  ])
  .meta({ id: 'RosInterface' });
export type RosInterface = z.infer<typeof rosInterface>;
