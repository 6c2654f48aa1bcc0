import { z } from 'zod';
import { epochMs, sequence, uuid } from './fields.js';

/** Up, the first message of a session: who speaks and what its disk remembers. */
export const hello = z.object({
  kind: z.literal('hello'),
  link_version: z.int().positive(),
  /** The agent's release date, `YYYY-MM-DD`. */
  agent_version: z.string().max(32),
  /** The robot's own clock when the message was written, for a first estimate of its offset. */
  robot_now_ms: epochMs,
  /**
   * The command inbox on the agent's disk. The cloud never sends a command it once wrote for one inbox to another.
   * `last_seq` counts the commands ever taken: a smaller one than the cloud has seen is an inbox restored from a copy.
   */
  inbox: z.object({ id: uuid, last_seq: sequence }),
  /** The data spool and the last sequence it has given out per lane. */
  spool: z.object({ id: uuid, last_seq: z.object({ live: sequence, backfill: sequence }) }),
  ros: z.object({
    graph: z.enum(['rclnodejs', 'simulated']),
    /** `jazzy`, `kilted`, …; null where there is none (simulated). */
    distro: z.string().max(64).nullable(),
  }),
  /** The revision of the desired state the agent has applied; null = none yet. */
  desired_revision: z.int().nonnegative().nullable(),
});
export type Hello = z.infer<typeof hello>;
