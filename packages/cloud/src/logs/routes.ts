import { confirmation } from '@drover/shared/api/fields';
import { logConfig, updateLogConfigBody } from '@drover/shared/api/logs';
import { type Endpoint, endpoint } from '../http/endpoint.js';
import type { Robots } from '../robots/robots.js';
import type { Logs } from './logs.js';

const tag = 'Logs';

export function logEndpoints(robots: Robots, logs: Logs): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/robots/{id}/logs/config',
      operationId: 'getLogConfig',
      tag,
      summary: 'How logs are collected on a robot',
      scope: 'data:read',
      answers: { 200: { description: 'The configuration', schema: logConfig } },
      errors: ['robot_not_found'],
      handle: async ({ caller, params }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: await logs.config(robot) };
      },
    }),
    endpoint({
      method: 'patch',
      path: '/robots/{id}/logs/config',
      operationId: 'configureLogs',
      tag,
      summary: 'Turn the collection of /rosout on or off, set its lowest level',
      scope: 'data:write',
      body: updateLogConfigBody,
      answers: { 200: { description: 'Configured', schema: confirmation } },
      errors: ['robot_not_found'],
      handle: async ({ caller, params, body }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        await logs.configure(robot, body);
        const parts = [
          ...(body.enabled === undefined ? [] : [body.enabled ? 'on' : 'off']),
          ...(body.min_level === undefined ? [] : [`from level ${body.min_level}`]),
        ];
        return { status: 200, body: { message: `collection of logs on robot ${robot.id} is ${parts.join(', ')}` } };
      },
    }),
  ];
}
