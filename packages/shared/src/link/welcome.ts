import { z } from 'zod';
import { epochMs, robotUid, sequence } from './fields.js';

/** Down, the answer to hello: the session stands. */
export const welcome = z.object({
  kind: z.literal('welcome'),
  link_version: z.int().positive(),
  robot_id: z.string(),
  /**
   * Since version 3: names this very robot among all that ever were, in any cloud. Another tenant's of the same id, or one that was
   * deleted and made again, is another robot: the files of the one are not the other's.
   */
  robot_uid: robotUid.optional(),
  cloud_now_ms: epochMs,
  /** The highest sequence of each lane that the cloud holds of this spool; rows up to it need not be sent again. */
  acked: z.object({ live: sequence, backfill: sequence }),
  /**
   * Since version 3. `stale`: the inbox is an old copy, or another robot's. It gets no commands and nothing that waits
   * in it may be run; the agent comes again under a new inbox id. Absent: `current`.
   */
  inbox: z.enum(['current', 'stale']).optional(),
});
export type Welcome = z.infer<typeof welcome>;
