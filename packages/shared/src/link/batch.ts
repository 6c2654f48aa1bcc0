import { z } from 'zod';
import { bytes, epochMs, lane, listOf, sequence, uuid } from './fields.js';

/** Names of topics, types and nodes: ROS's own are shorter. */
const rosName = z.string().min(1).max(512);

/** The largest definition known, with all it contains, has some 30,000. */
const SCHEMA_CHARS_MAX = 1_000_000;

/** The definition of a ROS type, sent in the first batch of a session that needs it and kept by its hash in the cloud. */
export const schemaRow = z.object({
  /** SHA-256 of `text`, hex. */
  hash: z.string().length(64),
  /** Full type name, `pkg/msg/Name`. */
  type: rosName,
  /** ros2msg text, dependencies after a line of `=` and `MSG: pkg/Name`, as MCAP's schema encoding `ros2msg` has it. */
  text: z.string().max(SCHEMA_CHARS_MAX),
});
export type SchemaRow = z.infer<typeof schemaRow>;

/** What the points of one source have in common; rows refer to it by its place in the batch. */
export const channelRow = z.object({
  source: rosName,
  type: rosName,
  schema_hash: z.string().length(64),
  /** Full name of the only publishing node (`/ns/node`); null where there are several or none is known. */
  publisher: rosName.nullable(),
});
export type ChannelRow = z.infer<typeof channelRow>;

/** One sample of a source: the serialised message as it came from ROS. */
export const pointRow = z.object({
  kind: z.literal('point'),
  /** Index into the batch's `channels`. */
  channel: z.int().nonnegative(),
  /** The robot's clock when it received the message (a log record: the record's own stamp). */
  robot_stamp_ms: epochMs,
  /** CDR with its 4-byte encapsulation header. */
  cdr: bytes,
});
export type PointRow = z.infer<typeof pointRow>;

const percent = z.number().min(-1).max(100);

/** One sample of the robot's vitals: percent 0..100; battery -1 = none known. */
export const vitalRow = z.object({
  kind: z.literal('vital'),
  robot_stamp_ms: epochMs,
  cpu: percent,
  ram: percent,
  disk: percent,
  battery: percent,
});
export type VitalRow = z.infer<typeof vitalRow>;

/** A sequence number whose row was dropped on the robot (a full or a corrupt spool) after it had been given out. */
export const goneRow = z.object({ kind: z.literal('gone') });
export type GoneRow = z.infer<typeof goneRow>;

export const dataRow = z.discriminatedUnion('kind', [pointRow, vitalRow, goneRow]);
export type DataRow = z.infer<typeof dataRow>;

/** A batch holds at most this many rows. */
export const BATCH_ROWS_MAX = 2000;

/**
 * Up: rows `first_seq`, `first_seq + 1`, … of one lane of the spool. The cloud stores those above its high-water mark
 * in one transaction with the new mark, then acknowledges: each row is stored once, however often it is sent.
 */
export const batch = z.object({
  kind: z.literal('batch'),
  spool_id: uuid,
  lane,
  first_seq: sequence.min(1),
  /** Robot's clock + offset = cloud's clock; measured by the agent, with half the round trip as its uncertainty. */
  clock: z.object({ offset_ms: z.number(), uncertainty_ms: z.number().nonnegative() }).nullable(),
  schemas: listOf(schemaRow, BATCH_ROWS_MAX),
  channels: listOf(channelRow, BATCH_ROWS_MAX),
  rows: listOf(dataRow, BATCH_ROWS_MAX).refine((rows) => rows.length > 0, 'must not be empty'),
});
export type Batch = z.infer<typeof batch>;

/** Down: all rows of the lane up to and including `seq` are on the cloud's disk. */
export const batchAck = z.object({ kind: z.literal('batch_ack'), spool_id: uuid, lane, seq: sequence });
export type BatchAck = z.infer<typeof batchAck>;
