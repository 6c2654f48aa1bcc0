import { z } from 'zod';
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
