import { z } from 'zod';
import { robotComposeErrorCode, robotComposeState } from './compose.js';
import { timestamp } from './fields.js';

/** What a robot tells of its deployment beyond its state. */

export const composeVersion = z
  .strictObject({ id: z.string(), version: z.int().positive() })
  .meta({ id: 'ComposeVersion' });

export const robotComposeDetail = z
  .strictObject({
    id: z.string(),
    version: z.int().positive(),
    assignment: z.uuid().meta({ description: 'a new one with each POST and each removal' }),
    removal: z
      .strictObject({ volumes: z.boolean() })
      .nullable()
      .meta({ description: 'where it is being, or was, taken off the robot: whether volumes go too; else null' }),
    override_lock: z.boolean(),
    state: robotComposeState,
    error_code: robotComposeErrorCode.nullable(),
    error_message: z.string().nullable(),
    phase: z
      .enum(['idle', 'held', 'checking', 'pulling', 'starting', 'watching', 'rolling_back', 'stopping'])
      .nullable()
      .meta({
        description:
          'what the robot does about it now. held: its own programs hold the update lock; watching: all is started and must ' +
          'become healthy; null: it has told nothing of this assignment yet',
      }),
    running: composeVersion.nullable().meta({ description: 'what runs, whatever is assigned; null = nothing' }),
    failed: composeVersion
      .extend({ error_code: robotComposeErrorCode, message: z.string(), at: timestamp })
      .nullable()
      .meta({ id: 'ComposeFailure', description: 'the version that failed last under this assignment' }),
    images: z.array(
      z
        .strictObject({
          image: z.string(),
          state: z.enum(['waiting', 'pulling', 'present', 'failed']),
          percent: z.number().min(0).max(100).nullable().meta({ description: 'null where the size is not known' }),
          message: z.string().nullable(),
        })
        .meta({ id: 'ComposeImage' }),
    ),
    engine_words: z
      .string()
      .nullable()
      .meta({ description: 'the end of what docker and compose said when it went wrong' }),
    held_by: z.string().nullable().meta({ description: 'who holds the update lock; null = nobody' }),
    online: z.boolean(),
    reported_at: timestamp.nullable().meta({ description: 'when the robot told this; null = it has told nothing yet' }),
  })
  .meta({ id: 'RobotComposeDetail' });
export type RobotComposeDetail = z.infer<typeof robotComposeDetail>;

export const robotComposeService = z
  .strictObject({
    service: z.string(),
    container: z.string(),
    image: z.string(),
    state: z
      .string()
      .meta({ description: 'the engine’s word: created, running, restarting, exited, paused, dead, removing' }),
    health: z.string().nullable().meta({ description: 'starting, healthy or unhealthy; null = no healthcheck' }),
    exit_code: z.int().nullable().meta({ description: 'where it has ended' }),
    since: timestamp.nullable().meta({ description: 'since when it is in that state; null = not known' }),
    restarts: z.int().nonnegative(),
  })
  .meta({ id: 'RobotComposeService' });
export type RobotComposeService = z.infer<typeof robotComposeService>;
