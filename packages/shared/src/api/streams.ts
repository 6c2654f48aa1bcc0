import { z } from 'zod';
import { STREAM_MESSAGE_BYTES_MAX } from '../link/protocol.js';
import { streamDrop, streamState } from '../link/stream-status.js';
import { checkRosName, isAbsoluteName, ROS_NAME_MAX } from '../ros/names.js';
import { normalizeTypeName, TypeNameError } from '../ros/types.js';
import { timestamp } from './fields.js';

export const STREAM_HZ_MAX = 1000;

/** An absolute ROS name. */
export const streamSource = z.string().superRefine((text, context) => {
  const wrong =
    checkRosName(text) ?? (isAbsoluteName(text) ? null : 'must be an absolute name, one that begins with /');
  if (wrong !== null) context.addIssue({ code: 'custom', message: wrong });
});

/** A message type; the short `pkg/Name` becomes `pkg/msg/Name`. */
export const messageType = z
  .string()
  .transform((text, context) => {
    try {
      return normalizeTypeName(text, 'msg');
    } catch (error) {
      if (!(error instanceof TypeNameError)) throw error;
      context.issues.push({ code: 'custom', message: error.message, input: text });
      return z.NEVER;
    }
  })
  .meta({
    description: 'ROS message type',
    example: 'nav_msgs/msg/Odometry',
    pattern: '^[a-z][a-z0-9]*(_[a-z0-9]+)*(/msg)?/[A-Z][A-Za-z0-9]*$',
  });

const hz = z
  .number()
  .gt(0, 'must be above 0')
  .max(STREAM_HZ_MAX, `must be at most ${STREAM_HZ_MAX}`)
  .meta({ description: 'samples a second' });

export const stream = z
  .strictObject({
    uuid: z.uuid(),
    source: z.string(),
    /** For URLs. */
    source_encoded: z.string(),
    type: z.string(),
    hz: z.number(),
    enabled: z.boolean(),
    /** Stamps and count of what is kept now. */
    first_recording: timestamp.nullable(),
    last_recording: timestamp.nullable(),
    num_recordings: z.int().nonnegative(),
    created_at: timestamp,
  })
  .meta({ id: 'Stream' });
export type Stream = z.infer<typeof stream>;

export const createStreamBody = z
  .strictObject({
    source: streamSource.meta({
      description: 'absolute ROS name of the topic',
      example: '/odom',
      // About what checkRosName asks, for those who read the document.
      pattern: '^(/[A-Za-z_][A-Za-z0-9_]*)+$',
      maxLength: ROS_NAME_MAX,
    }),
    type: messageType,
    hz,
  })
  .meta({ id: 'CreateStream' });
export type CreateStreamBody = z.infer<typeof createStreamBody>;

export const updateStreamBody = z.strictObject({ enabled: z.boolean(), hz }).meta({ id: 'UpdateStream' });
export type UpdateStreamBody = z.infer<typeof updateStreamBody>;

/** How old what waits on the robot may at most be allowed to become: longer, its spool keeps nothing anyway. */
export const STREAM_AGE_S_MAX = 7 * 24 * 3600;

export const streamOptionsBody = z
  .strictObject({
    max_message_bytes: z
      .int()
      .min(1)
      .max(STREAM_MESSAGE_BYTES_MAX)
      .meta({ description: 'a larger message is dropped on the robot and counted; 8 MiB where never set' })
      .optional(),
    max_age_s: z
      .number()
      .gt(0, 'must be above 0')
      .max(STREAM_AGE_S_MAX, `must be at most ${STREAM_AGE_S_MAX}`)
      .nullable()
      .meta({
        description: 'what waits on the robot for longer is dropped and counted; null: it waits as long as it must',
      })
      .optional(),
  })
  .refine(
    (body) => body.max_message_bytes !== undefined || body.max_age_s !== undefined,
    'give max_message_bytes, max_age_s or both',
  )
  .meta({ id: 'UpdateStreamOptions', minProperties: 1 });
export type StreamOptionsBody = z.infer<typeof streamOptionsBody>;

export const streamStatus = z
  .strictObject({
    source: z.string(),
    state: z.enum([...streamState.options, 'unknown']).meta({
      description:
        'as the robot last told; unknown: it has told nothing of this stream yet. What to do about each is in the guide',
    }),
    /** The state in words, with what to do about it. */
    message: z.string().nullable(),
    /** Publishers of the stream's type; null = not known. */
    publishers: z.int().nonnegative().nullable(),
    /** Stamps of the first message since the robot last subscribed, and of the newest. */
    receiving_since: timestamp.nullable(),
    last_message: timestamp.nullable(),
    rate_hz: z
      .number()
      .nonnegative()
      .nullable()
      .meta({ description: 'messages a second before sampling; null = not known' }),
    /** Counted since the robot was created. */
    drops: z.array(streamDrop),
    max_message_bytes: z.int().positive(),
    max_age_s: z.number().positive().nullable(),
    /** When the robot last told; null = never. */
    reported_at: timestamp.nullable(),
    online: z.boolean(),
  })
  .meta({ id: 'StreamStatus' });
export type StreamStatus = z.infer<typeof streamStatus>;
