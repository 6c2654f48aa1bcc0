import { z } from 'zod';
import { robotComposeErrorCode } from '../api/compose.js';
import { composeVersion } from './compose-status.js';
import { listOf } from './fields.js';

/** The results of the questions about compose (query.ts). */

const PLAN_LIST_MAX = 2000;

/** To `compose_plan`: what assigning the document would do now. Nothing was changed. */
export const composePlanAnswer = z.object({
  running: composeVersion.nullable(),
  /** One a service that there is or would be, in name order. */
  services: listOf(
    z.object({
      service: z.string(),
      action: z.enum(['create', 'recreate', 'start', 'keep', 'remove']),
      /** Why, in words: `image changed`. */
      reason: z.string().max(1024).nullable(),
    }),
    PLAN_LIST_MAX,
  ),
  images: listOf(
    z.object({
      image: z.string(),
      present: z.boolean(),
      pull: z.boolean(),
      /** To be downloaded, as the registry tells; null = it did not tell, or nothing is pulled. */
      download_bytes: z.number().nonnegative().nullable(),
      message: z.string().max(1024).nullable(),
    }),
    PLAN_LIST_MAX,
  ),
  disk: z.object({
    /** Where the engine keeps its images; null = it can not be seen from the agent. */
    free_bytes: z.number().nonnegative().nullable(),
    /** Sum of the downloads; null where one of them is not known. */
    needed_bytes: z.number().nonnegative().nullable(),
    /** Null = not known. */
    fits: z.boolean().nullable(),
  }),
  ports: listOf(
    z.object({
      service: z.string(),
      host_ip: z.string(),
      port: z.int().min(1).max(65535),
      protocol: z.string(),
      free: z.boolean(),
      /** Who has it, where that is known: a container's name. */
      taken_by: z.string().max(256).nullable(),
    }),
    PLAN_LIST_MAX,
  ),
  /** What the robot's policy refuses. */
  refusals: listOf(z.object({ rule: z.string(), path: z.string(), message: z.string() }), PLAN_LIST_MAX),
  /** Why it could not be brought up, refusals aside; null = nothing speaks against it. */
  error: z.object({ code: robotComposeErrorCode, message: z.string().max(4096) }).nullable(),
});
export type ComposePlanAnswer = z.infer<typeof composePlanAnswer>;

export const COMPOSE_LOGS_TAIL_MAX = 1000;

/** To `compose_logs`: the last lines of each container of a service, oldest first. */
export const composeLogsAnswer = z.object({
  containers: listOf(
    z.object({
      container: z.string(),
      lines: listOf(
        z.object({
          /** RFC 3339 with nanoseconds, as the engine gives it; null = it gave none. */
          stamp: z.string().max(64).nullable(),
          stream: z.enum(['stdout', 'stderr']),
          text: z.string(),
        }),
        COMPOSE_LOGS_TAIL_MAX,
      ),
    }),
    100,
  ),
});
export type ComposeLogsAnswer = z.infer<typeof composeLogsAnswer>;
