import { z } from 'zod';
import { displayName, resourceId, timestamp } from './fields.js';

/** Latest vitals: percent 0..100; -1 = not known. */
export const robotVitals = z.strictObject({
  cpu: z.number(),
  battery: z.number(),
  ram: z.number(),
  disk: z.number(),
});

export const robot = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    /** True from the agent's first authenticated session. */
    provisioned: z.boolean(),
    token_hint: z.string(),
    /** "" before the first session. */
    agent_version: z.string(),
    online: z.boolean(),
    online_updated_at: timestamp,
    created_at: timestamp,
    vitals: robotVitals,
  })
  .meta({ id: 'Robot' });
export type Robot = z.infer<typeof robot>;

export const createRobotBody = z
  .strictObject({ id: resourceId, name: displayName.optional() })
  .meta({ id: 'CreateRobot' });
export type CreateRobotBody = z.infer<typeof createRobotBody>;

/** The only answer that carries the token, beside that of its rotation. */
export const createdRobot = z
  .strictObject({ robot_id: z.string(), tenant_uuid: z.uuid(), token: z.string() })
  .meta({ id: 'CreatedRobot' });
export type CreatedRobot = z.infer<typeof createdRobot>;

export const updateRobotBody = z.strictObject({ name: displayName }).meta({ id: 'UpdateRobot' });
export type UpdateRobotBody = z.infer<typeof updateRobotBody>;
