import { z } from 'zod';
import { epochMs, listOf, robotUid, sequence, uuid } from './fields.js';

/** Tenures that an agent remembers of its inbox's past, at most. */
export const TENURES_MAX = 64;

/** An inbox's file as one run of the agent has it in its hands, and the number of the last write that run made to it. */
const tenure = z.object({ id: uuid, version: sequence });

/**
 * Where in its own history an inbox's file is. Each run of the agent draws a tenure when it opens the file, and each
 * write raises the version, so that the two name one state of the file in a tree of copies. The cloud keeps the last
 * one it was told; the file holds all that was ever told where that state is among its `earlier` ones, or its present
 * one, at no lower version. Else it is an old copy.
 */
export const lineage = tenure.extend({
  /** The tenures before, newest first, each with the version at which it ended. */
  earlier: listOf(tenure, TENURES_MAX),
});
export type Lineage = z.infer<typeof lineage>;

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
   * `last_seq` counts the commands ever taken: a smaller one than the cloud has seen is an inbox restored from a copy,
   * which is all that an agent before version 3 lets us know of its past.
   */
  inbox: z.object({
    id: uuid,
    last_seq: sequence,
    /** Since version 3: the robot it belongs to, where a cloud has told it. */
    robot_id: z.string().max(256).optional(),
    robot_uid: robotUid.optional(),
    /** Since version 3. */
    lineage: lineage.optional(),
  }),
  /**
   * The data spool and the last sequence it has given out per lane. `first_seq`: the lowest one that it still holds, or the next
   * it will give out where it holds none. What is before that was acknowledged and is gone here. Absent from agents
   * before version 3.
   */
  spool: z.object({
    id: uuid,
    last_seq: z.object({ live: sequence, backfill: sequence }),
    first_seq: z.object({ live: sequence.min(1), backfill: sequence.min(1) }).optional(),
  }),
  ros: z.object({
    graph: z.enum(['rclnodejs', 'simulated']),
    /** `jazzy`, `kilted`, …; null where there is none (simulated). */
    distro: z.string().max(64).nullable(),
  }),
  /** The revision of the desired state the agent has applied; null = none yet. */
  desired_revision: z.int().nonnegative().nullable(),
});
export type Hello = z.infer<typeof hello>;
