import { z } from 'zod';
import { COMPOSE_LOGS_TAIL_MAX } from '../link/compose-answers.js';
import { assignComposeFileBody, createComposeFileBody, robotComposeErrorCode } from './compose.js';
import { composeVersion } from './compose-detail.js';
import { integerParameter } from './fields.js';

/** What is asked of the robot about compose: what an assignment would do, and what a service wrote. */

export const planComposeFileBody = z
  .strictObject({
    id: assignComposeFileBody.shape.id.optional(),
    version: assignComposeFileBody.shape.version,
    content: createComposeFileBody.shape.content.optional(),
  })
  .refine((body) => (body.id === undefined) !== (body.content === undefined), 'give either id or content')
  .refine((body) => body.version === undefined || body.id !== undefined, {
    path: ['version'],
    message: 'is of a stored file: give its id',
  })
  .meta({ id: 'PlanComposeFile' });
export type PlanComposeFileBody = z.infer<typeof planComposeFileBody>;

const bytes = z.number().nonnegative().nullable();

export const composePlan = z
  .strictObject({
    ok: z.boolean().meta({
      description:
        'nothing speaks against it: no refusal, no error, no port taken, and the disk is not known to be too small',
    }),
    running: composeVersion.nullable().meta({ description: 'what runs now; null = nothing' }),
    services: z.array(
      z
        .strictObject({
          service: z.string(),
          action: z.enum(['create', 'recreate', 'start', 'keep', 'remove']),
          reason: z.string().nullable(),
        })
        .meta({ id: 'ComposePlanService' }),
    ),
    images: z.array(
      z
        .strictObject({
          image: z.string(),
          present: z.boolean(),
          pull: z.boolean(),
          download_bytes: bytes.meta({ description: 'null = the registry does not tell, or nothing is pulled' }),
          message: z.string().nullable(),
        })
        .meta({ id: 'ComposePlanImage' }),
    ),
    disk: z
      .strictObject({
        free_bytes: bytes.meta({ description: 'where the engine keeps its images; null = not known' }),
        needed_bytes: bytes.meta({ description: 'to be downloaded; null = not known' }),
        fits: z.boolean().nullable().meta({ description: 'null = not known' }),
      })
      .meta({ id: 'ComposePlanDisk' }),
    ports: z.array(
      z
        .strictObject({
          service: z.string(),
          host_ip: z.string(),
          port: z.int(),
          protocol: z.string(),
          free: z.boolean(),
          taken_by: z.string().nullable().meta({ description: 'a container’s name, where it is known' }),
        })
        .meta({ id: 'ComposePlanPort' }),
    ),
    refusals: z
      .array(z.strictObject({ rule: z.string(), path: z.string(), message: z.string() }).meta({ id: 'ComposeRefusal' }))
      .meta({ description: 'what the robot’s policy refuses' }),
    error: z
      .strictObject({ code: robotComposeErrorCode, message: z.string() })
      .nullable()
      .meta({ description: 'why it could not be brought up, refusals aside' }),
  })
  .meta({ id: 'ComposePlan' });
export type ComposePlan = z.infer<typeof composePlan>;

export const serviceLogsQuery = z.object({
  tail: integerParameter(1, COMPOSE_LOGS_TAIL_MAX, 100).meta({
    description: 'the last so many lines of each container',
  }),
});

export const serviceLogs = z
  .strictObject({
    service: z.string(),
    containers: z.array(
      z
        .strictObject({
          container: z.string(),
          lines: z.array(
            z
              .strictObject({
                stamp: z.string().nullable().meta({
                  description: 'RFC 3339 with nanoseconds, by the robot’s clock; null = the engine gave none',
                }),
                stream: z.enum(['stdout', 'stderr']),
                text: z.string(),
              })
              .meta({ id: 'ServiceLogLine' }),
          ),
        })
        .meta({ id: 'ContainerLogs' }),
    ),
  })
  .meta({ id: 'ServiceLogs' });
export type ServiceLogs = z.infer<typeof serviceLogs>;
