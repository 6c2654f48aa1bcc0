import { z } from 'zod';
import { booleanParameter, pageParameters, timestamp } from './fields.js';

/** One sample: percent 0..100; battery -1 = not known. */
export const vital = z
  .strictObject({
    uuid: z.uuid(),
    created_at: timestamp,
    battery: z.number(),
    cpu: z.number(),
    ram: z.number(),
    disk: z.number(),
  })
  .meta({ id: 'Vital' });
export type Vital = z.infer<typeof vital>;

export const listVitalsQuery = z.object({
  ...pageParameters,
  latest_only: booleanParameter.meta({ description: 'only the latest sample' }),
});
export type ListVitalsQuery = z.infer<typeof listVitalsQuery>;

export const vitalsConfigBody = z.strictObject({ enabled: z.boolean() }).meta({ id: 'VitalsConfig' });
export type VitalsConfigBody = z.infer<typeof vitalsConfigBody>;
