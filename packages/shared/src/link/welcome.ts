import { z } from 'zod';
import { epochMs, sequence } from './fields.js';

/** Down, the answer to hello: the session stands. */
export const welcome = z.object({
  kind: z.literal('welcome'),
  link_version: z.int().positive(),
  robot_id: z.string(),
  cloud_now_ms: epochMs,
  /** The highest sequence of each lane that the cloud holds of this spool; rows up to it need not be sent again. */
  acked: z.object({ live: sequence, backfill: sequence }),
});
export type Welcome = z.infer<typeof welcome>;
