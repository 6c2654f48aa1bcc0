import { z } from 'zod';
import { sourceDrop, storageState } from '../link/link-status.js';
import { timestamp } from './fields.js';

/** How a session ended: with a close handshake, broken, or given up because nothing was heard. */
export const sessionEnding = z.enum(['clean', 'reset', 'silent']);
export type SessionEnding = z.infer<typeof sessionEnding>;

export const robotLink = z
  .strictObject({
    online: z.boolean(),
    connected_since: timestamp
      .nullable()
      .meta({ description: 'when the session that stands began; null where none stands' }),
    disconnected_since: timestamp.nullable().meta({
      description:
        'since when no session stands, also while `online` waits whether it comes back; null where one stands, and before the first',
    }),
    last_disconnect: z
      .strictObject({ at: timestamp, cause: sessionEnding })
      .nullable()
      .meta({
        description:
          'the last end of a session that the cloud saw, so none by a crash of its own, nor where a newer session took over. ' +
          'clean: closed in order, by either side; reset: the connection broke; silent: nothing was heard',
      }),
    sessions: z.int().nonnegative().meta({ description: 'sessions since the robot was created' }),
    link_version: z.int().positive().nullable().meta({ description: 'what its agent last spoke; null = never seen' }),
    clock: z
      .strictObject({ offset_ms: z.number(), uncertainty_ms: z.number().nonnegative(), measured_at: timestamp })
      .nullable()
      .meta({ description: 'the robot’s clock + offset_ms = the cloud’s, as last measured, ± uncertainty_ms' }),
    spool: z
      .strictObject({
        rows: z.int().nonnegative(),
        bytes: z.int().nonnegative(),
        bytes_max: z.int().positive(),
        oldest: timestamp.nullable().meta({ description: 'stamp of the oldest of it; null = nothing waits' }),
        storage: storageState.nullable().meta({
          description:
            'failing: the robot’s disk takes no writes, so what is collected waits in its memory, past whose bound the oldest is ' +
            'dropped, and all of which goes with its process; null = an agent too old to tell',
        }),
      })
      .nullable()
      .meta({ description: 'data that waits on the robot’s disk; null = an agent too old to tell, or never seen' }),
    drops: z
      .array(sourceDrop)
      .meta({ description: 'everything ever dropped on the robot, by source and reason, earlier spools included' }),
    missing_rows: z
      .int()
      .nonnegative()
      .meta({
        description:
          'rows that the robot had delivered and deleted and this store does not have: it was restored from a backup, or ' +
          'the robot was deleted and created anew',
      }),
    missing_found_at: timestamp.nullable().meta({ description: 'when the last of them were found missing' }),
    reported_at: timestamp.nullable().meta({ description: 'when the robot told of its spool; null = never' }),
  })
  .meta({ id: 'RobotLink' });
export type RobotLink = z.infer<typeof robotLink>;
