import { z } from 'zod';
import { booleanParameter, displayName, jsonObject, resourceId, timestamp } from './fields.js';

const composeContent = jsonObject.meta({ type: 'object', example: { services: { web: { image: 'nginx' } } } });

export const composeFile = z
  .strictObject({ id: z.string(), name: z.string(), content: composeContent, created_at: timestamp })
  .meta({ id: 'ComposeFile' });
export type ComposeFile = z.infer<typeof composeFile>;

/** A version of a compose file, as a list has it: without its content. */
export const composeFileVersion = z
  .strictObject({ version: z.int().positive(), name: z.string(), created_at: timestamp })
  .meta({ id: 'ComposeFileVersion' });
export type ComposeFileVersion = z.infer<typeof composeFileVersion>;

/** A version of a compose file; `created_at` is when the version was made. */
export const composeFileAtVersion = z
  .strictObject({
    id: z.string(),
    version: z.int().positive(),
    name: z.string(),
    content: composeContent,
    created_at: timestamp,
  })
  .meta({ id: 'ComposeFileAtVersion' });
export type ComposeFileAtVersion = z.infer<typeof composeFileAtVersion>;

export const createComposeFileBody = z
  .strictObject({ id: resourceId, name: displayName.optional(), content: composeContent })
  .meta({ id: 'CreateComposeFile' });
export type CreateComposeFileBody = z.infer<typeof createComposeFileBody>;

export const createdComposeFile = z.strictObject({ id: z.string() }).meta({ id: 'CreatedComposeFile' });

export const updateComposeFileBody = z
  .strictObject({ name: displayName.optional(), content: composeContent.optional() })
  .refine((body) => body.name !== undefined || body.content !== undefined, 'give name, content or both')
  .meta({ id: 'UpdateComposeFile', minProperties: 1 });
export type UpdateComposeFileBody = z.infer<typeof updateComposeFileBody>;

export const robotComposeState = z.enum(['pending_up', 'up', 'pending_down', 'down', 'error']);
export type RobotComposeState = z.infer<typeof robotComposeState>;

export const robotComposeErrorCode = z.enum([
  'invalid_compose_file',
  'not_allowed',
  'docker_unavailable',
  'image_pull_failed',
  'start_failed',
  'unhealthy',
  'stop_failed',
]);
export type RobotComposeErrorCode = z.infer<typeof robotComposeErrorCode>;

/** A compose file as it was put on a robot; `created_at` is when. */
export const robotComposeFile = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    state: robotComposeState,
    error_code: robotComposeErrorCode.nullable(),
    content: composeContent,
    created_at: timestamp,
  })
  .meta({ id: 'RobotComposeFile' });
export type RobotComposeFile = z.infer<typeof robotComposeFile>;

export const assignComposeFileBody = z
  .strictObject({
    id: z.string(),
    version: z
      .int()
      .positive()
      .optional()
      .meta({ description: 'an earlier version of the file, to go back to; the newest where it is left out' }),
    override_lock: z
      .boolean()
      .optional()
      .meta({ description: 'true: also while the robot’s own programs hold the update lock' }),
  })
  .meta({ id: 'AssignComposeFile' });
export type AssignComposeFileBody = z.infer<typeof assignComposeFileBody>;

/** Strict: a misspelt `volumes` would take them off, or leave them, unnoticed. */
export const removeComposeFileQuery = z.strictObject({
  volumes: booleanParameter.meta({ description: 'true: the named volumes go too, and what is in them' }),
  override_lock: booleanParameter.meta({
    description: 'true: also while the robot’s own programs hold the update lock',
  }),
});
export type RemoveComposeFileQuery = z.infer<typeof removeComposeFileQuery>;
