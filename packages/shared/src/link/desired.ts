import { z } from 'zod';
import { jsonObject, uuid } from './fields.js';

export const logLevel = z.enum(['debug', 'info', 'warn', 'error', 'fatal']);
export type LogLevel = z.infer<typeof logLevel>;

export const desiredStream = z.object({
  source: z.string(),
  /** Full type name, `pkg/msg/Name`. */
  type: z.string(),
  hz: z.number().positive(),
  enabled: z.boolean(),
  max_message_bytes: z.int().positive(),
  /** What waits on the robot longer than this is dropped there, counted; absent or null: it waits as long as it must. */
  max_age_s: z.number().positive().nullish(),
});
export type DesiredStream = z.infer<typeof desiredStream>;

/** Down: everything the robot should do by itself, as one document. The agent converges to it and keeps it on disk. */
export const desired = z.object({
  kind: z.literal('desired'),
  /** Grows with every change; an older revision never replaces a newer one. */
  revision: z.int().nonnegative(),
  vitals: z.object({ enabled: z.boolean(), period_s: z.number().positive() }),
  logs: z.object({ enabled: z.boolean(), min_level: logLevel }),
  streams: z.array(desiredStream),
  compose: z
    .object({
      id: z.string(),
      version: z.int().positive(),
      name: z.string(),
      content: jsonObject,
      /** Since version 5. A new one with every assignment: the same version assigned again is tried again. */
      assignment: uuid.optional(),
      /** Since version 5. True: the robot's own update lock does not hold this one off. */
      override_lock: z.boolean().optional(),
    })
    .nullable(),
  /** Since version 5, where `compose` is null: how what was assigned before is taken down. Absent: volumes stay. */
  compose_removal: z
    .object({
      assignment: uuid,
      volumes: z.boolean(),
      /** As of an assignment. */
      override_lock: z.boolean().optional(),
    })
    .nullish(),
});
export type Desired = z.infer<typeof desired>;
