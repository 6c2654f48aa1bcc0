import { confirmation } from '@drover/shared/api/fields';
import { listVitalsQuery, vital, vitalsConfigBody } from '@drover/shared/api/vitals';
import { z } from 'zod';
import { type Endpoint, endpoint } from '../http/endpoint.js';
import type { Robots } from '../robots/robots.js';
import type { Vitals } from './vitals.js';

const tag = 'Vitals';

export function vitalEndpoints(robots: Robots, vitals: Vitals): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/robots/{id}/vitals',
      operationId: 'listVitals',
      tag,
      summary: 'Samples of a robot’s vitals, newest first',
      scope: 'data:read',
      query: listVitalsQuery,
      answers: { 200: { description: 'The samples', schema: z.array(vital) } },
      errors: ['robot_not_found'],
      handle: async ({ caller, params, query }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: await vitals.list(robot, query) };
      },
    }),
    endpoint({
      method: 'patch',
      path: '/robots/{id}/vitals/config',
      operationId: 'configureVitals',
      tag,
      summary: 'Turn the collection of vitals on or off',
      scope: 'data:write',
      body: vitalsConfigBody,
      answers: { 200: { description: 'Configured', schema: confirmation } },
      errors: ['robot_not_found'],
      handle: async ({ caller, params, body }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        await vitals.configure(robot, body.enabled);
        const state = body.enabled ? 'on' : 'off';
        return { status: 200, body: { message: `collection of vitals on robot ${robot.id} is ${state}` } };
      },
    }),
  ];
}
