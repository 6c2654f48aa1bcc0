import { z } from 'zod';

/** The results that answers carry (query.ts), one schema a question. */

/** Names in one list; a graph of more is no robot's. */
const LIST_MAX = 20_000;
/** Types of one name: more than one is a mistake already. */
const TYPES_MAX = 100;

/**
 * A list that is refused for the first element that is wrong: lists in lists could else have more wrong ones than there is
 * memory to say so.
 */
function list<T extends z.ZodType>(element: T, lengthMax = LIST_MAX) {
  return z.array(z.unknown()).transform((values, context): z.infer<T>[] => {
    if (values.length > lengthMax) context.addIssue(`must be a list of at most ${lengthMax}`);
    const checked: z.infer<T>[] = [];
    for (const [index, value] of values.slice(0, lengthMax).entries()) {
      const { success, data, error } = element.safeParse(value);
      if (!success) {
        const [first] = error.issues;
        context.addIssue({ code: 'custom', path: [index, ...(first?.path ?? [])], message: first?.message ?? '' });
        return checked;
      }
      checked.push(data);
    }
    return checked;
  });
}

/** Durations are seconds; null = unlimited. */
const seconds = z.number().nonnegative().nullable();

/** ROS tells of an endpoint a moment before it tells whose it is. */
const nodeName = z.string().nullable().meta({ description: 'full name; null where it is not known yet' });

/** Quality of service as an endpoint announced it; `unknown` and null where the middleware does not pass it on. */
export const endpointQos = z
  .object({
    reliability: z.enum(['reliable', 'best_effort', 'unknown']),
    durability: z.enum(['volatile', 'transient_local', 'unknown']),
    history: z.enum(['keep_last', 'keep_all', 'unknown']),
    depth: z.int().nonnegative().nullable().meta({ description: 'messages kept; null where it is not announced' }),
    deadline_s: seconds,
    lifespan_s: seconds,
    liveliness: z.enum(['automatic', 'manual_by_topic', 'unknown']),
    liveliness_lease_s: seconds,
  })
  .meta({ id: 'EndpointQos', description: 'seconds; null = unlimited' });
export type EndpointQos = z.infer<typeof endpointQos>;

/** One publisher or subscription. */
export const topicEndpoint = z
  .object({
    node: nodeName,
    type: z.string(),
    qos: endpointQos,
  })
  .meta({ id: 'TopicEndpoint' });
export type TopicEndpoint = z.infer<typeof topicEndpoint>;

/** What serves a service or an action. */
export const serverEndpoint = z.object({ node: nodeName, type: z.string() }).meta({ id: 'ServerEndpoint' });
export type ServerEndpoint = z.infer<typeof serverEndpoint>;

const served = z.object({ name: z.string(), types: list(z.string(), TYPES_MAX), servers: list(serverEndpoint) });

/** To `graph`: what is there now, names sorted; what ROS hides (a part that begins with `_`) is left out, as ros2 does. */
export const graphAnswer = z.object({
  nodes: list(z.string()),
  topics: list(
    z.object({
      name: z.string(),
      types: list(z.string(), TYPES_MAX),
      publishers: list(topicEndpoint),
      subscribers: list(topicEndpoint),
    }),
  ),
  /** Those that only have clients are among them. */
  services: list(served),
  actions: list(served),
});
export type GraphAnswer = z.infer<typeof graphAnswer>;

/** A message of an interface: its own definition, then those of all that it contains (ros2msg text). */
const definitionPart = z.object({ type: z.string(), text: z.string() });

/** To `interface`. */
export const interfaceAnswer = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('msg'), type: z.string(), message: definitionPart }),
  z.object({ kind: z.literal('srv'), type: z.string(), request: definitionPart, response: definitionPart }),
  z.object({
    kind: z.literal('action'),
    type: z.string(),
    goal: definitionPart,
    result: definitionPart,
    feedback: definitionPart,
  }),
]);
export type InterfaceAnswer = z.infer<typeof interfaceAnswer>;

/** What the robot looks at before a command; the cloud puts `robot_provisioned` and `robot_online` before them. */
export const robotCheckName = z.enum([
  'type_known',
  'payload_fits',
  'name_resolves',
  'server_there',
  'subscribers_there',
  'policy_allows',
]);
export type RobotCheckName = z.infer<typeof robotCheckName>;

export const robotCheck = z.object({ name: robotCheckName, ok: z.boolean(), message: z.string() });
export type RobotCheck = z.infer<typeof robotCheck>;

/** To `check`. */
export const checkAnswer = z.object({ checks: list(robotCheck, TYPES_MAX) });
export type CheckAnswer = z.infer<typeof checkAnswer>;

/** Codes of `answer.error`. */
export const ANSWER_ERROR = {
  /** The project on the robot has no such service; the message names those it has. */
  unknownService: 'unknown_service',
  /** The robot has no such type; the message names the nearest one. */
  unknownType: 'unknown_type',
  /** The answer is longer than ANSWER_LENGTH_MAX. */
  tooLarge: 'too_large',
  /** ANSWERS_UNDER_WAY_MAX questions are being answered already. */
  busy: 'busy',
  /** The robot's own fault; the message says which. */
  failed: 'failed',
} as const;

/** A result is at most this long as JSON text, characters: it travels beside commands and data. */
export const ANSWER_LENGTH_MAX = 4 * 1024 * 1024;
