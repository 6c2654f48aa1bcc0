import { z } from 'zod';
import { logLevel } from '../link/desired.js';
import { timestamp } from './fields.js';

export const logConfig = z
  .strictObject({
    enabled: z.boolean(),
    /** Stamps and count of what is kept now of /rosout. */
    first_recording: timestamp.nullable(),
    last_recording: timestamp.nullable(),
    num_recordings: z.int().nonnegative(),
  })
  .meta({ id: 'LogConfig' });
export type LogConfig = z.infer<typeof logConfig>;

export const updateLogConfigBody = z
  .strictObject({ enabled: z.boolean().optional(), min_level: logLevel.optional() })
  .refine((body) => body.enabled !== undefined || body.min_level !== undefined, 'give enabled, min_level or both')
  .meta({ id: 'UpdateLogConfig', minProperties: 1 });
export type UpdateLogConfigBody = z.infer<typeof updateLogConfigBody>;
