import { z } from 'zod';
import { clockOffset } from './clock.js';
import { epochMs, listOf, uuid } from './fields.js';
import { streamDrop } from './stream-status.js';

/** What a robot dropped of one source for one reason; counted since the spool began. */
export const sourceDrop = streamDrop.extend({
  /** The stream's name; `vitals` for the robot's vitals. */
  source: z.string().max(512),
});
export type SourceDrop = z.infer<typeof sourceDrop>;

/** Whether the robot's disk takes what is collected; `failing`: it waits in memory, which is bounded and goes with the process. */
export const storageState = z.enum(['ok', 'failing']);
export type StorageState = z.infer<typeof storageState>;

/** Counts in one message: the largest, where there are more. */
export const SOURCE_DROPS_MAX = 1000;

/** Up (to clouds of version 3 and later): how much waits on the robot, what it had to drop, and how its clock stands. */
export const linkStatus = z.object({
  kind: z.literal('link_status'),
  /** The robot's wall clock + offset = the cloud's clock; null = not measured yet. */
  clock: clockOffset.nullable(),
  spool: z.object({
    id: uuid,
    rows: z.int().nonnegative(),
    bytes: z.int().nonnegative(),
    bytes_max: z.int().positive(),
    /** When the oldest of it was received, by the robot's clock as it stands now; null = nothing waits. */
    oldest_robot_ms: epochMs.nullable(),
    /** Since version 4. */
    storage: storageState.optional(),
  }),
  drops: listOf(sourceDrop, SOURCE_DROPS_MAX),
});
export type LinkStatus = z.infer<typeof linkStatus>;
