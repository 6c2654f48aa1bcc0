import { z } from 'zod';
import { epochMs, listOf, uuid } from './fields.js';

/**
 * What a stream is doing on the robot. `waiting`: nothing is wrong and nothing has come yet. `receiving`: messages come, or came
 * until their publisher fell silent. All others say why nothing can come; `message` says it in words, with the remedy.
 */
export const streamState = z.enum([
  'disabled',
  'waiting',
  'receiving',
  'no_publisher',
  'type_mismatch',
  'incompatible_qos',
  'unknown_type',
  'failed',
  'quarantined',
]);
export type StreamState = z.infer<typeof streamState>;

/** There are six; a robot that tells of more than so many is refused. */
const DROP_REASONS_MAX = 64;

/** Why data did not reach the cloud; counted since the robot's spool began. */
export const streamDrop = z.object({
  reason: z.string().max(32),
  rows: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
});
export type StreamDrop = z.infer<typeof streamDrop>;

export const streamReport = z.object({
  source: z.string().max(512),
  type: z.string().max(512),
  state: streamState,
  message: z.string().max(1024).nullable(),
  publishers: z.int().nonnegative(),
  /** The robot's clock: the first message since the subscription was last made, and the newest one; null = none yet. */
  receiving_since_robot_ms: epochMs.nullable(),
  last_message_robot_ms: epochMs.nullable(),
  /** Messages a second that reached the agent lately, before sampling; null = not known. */
  rate_hz: z.number().nonnegative().nullable(),
  drops: listOf(streamDrop, DROP_REASONS_MAX),
});
export type StreamReport = z.infer<typeof streamReport>;

/** Reports in one message; a robot with more streams sends several. */
export const STREAM_REPORTS_MAX = 200;

/** Up: how the streams named here do, those that changed since they were last told. */
export const streamStatus = z.object({
  kind: z.literal('stream_status'),
  streams: listOf(streamReport, STREAM_REPORTS_MAX),
  /** Since version 3: the spool whose drops these are; absent: the one that hello named. */
  spool_id: uuid.optional(),
});
export type StreamStatus = z.infer<typeof streamStatus>;
