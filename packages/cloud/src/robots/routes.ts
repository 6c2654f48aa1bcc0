import { confirmation } from '@drover/shared/api/fields';
import { createdRobot, createRobotBody, robot, updateRobotBody } from '@drover/shared/api/robots';
import { z } from 'zod';
import { type Endpoint, endpoint } from '../http/endpoint.js';
import type { Robots } from './robots.js';

const tag = 'Robots';

export function robotEndpoints(robots: Robots): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/robots',
      operationId: 'listRobots',
      tag,
      summary: 'All robots, oldest first',
      scope: 'robots:read',
      answers: { 200: { description: 'The robots', schema: z.array(robot) } },
      errors: [],
      handle: async ({ caller }) => ({ status: 200, body: await robots.list(caller.tenantKey) }),
    }),
    endpoint({
      method: 'post',
      path: '/robots',
      operationId: 'createRobot',
      tag,
      summary: 'Register a robot',
      description: 'The token is in this answer only: give it to the agent.',
      scope: 'robots:write',
      body: createRobotBody,
      answers: { 201: { description: 'The robot and its token', schema: createdRobot } },
      errors: ['robot_exists'],
      handle: async ({ caller, body }) => ({ status: 201, body: await robots.create(caller, body) }),
    }),
    endpoint({
      method: 'get',
      path: '/robots/{id}',
      operationId: 'getRobot',
      tag,
      summary: 'One robot',
      scope: 'robots:read',
      answers: { 200: { description: 'The robot', schema: robot } },
      errors: ['robot_not_found'],
      handle: async ({ caller, params }) => ({ status: 200, body: await robots.get(caller.tenantKey, params.id) }),
    }),
    endpoint({
      method: 'patch',
      path: '/robots/{id}',
      operationId: 'updateRobot',
      tag,
      summary: 'Rename a robot',
      scope: 'robots:write',
      body: updateRobotBody,
      answers: { 200: { description: 'Done', schema: confirmation } },
      errors: ['robot_not_found'],
      handle: async ({ caller, params, body }) => {
        await robots.update(caller.tenantKey, params.id, body);
        return { status: 200, body: { message: `robot ${params.id} is now named ${body.name}` } };
      },
    }),
    endpoint({
      method: 'delete',
      path: '/robots/{id}',
      operationId: 'deleteRobot',
      tag,
      summary: 'Delete a robot and, in the background, its data',
      scope: 'robots:write',
      answers: { 204: { description: 'Deleted' } },
      errors: ['robot_not_found'],
      handle: async ({ caller, params }) => {
        await robots.remove(caller.tenantKey, params.id);
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'post',
      path: '/robots/{id}/token',
      operationId: 'rotateRobotToken',
      tag,
      summary: 'Replace a robot’s token',
      description: 'The old token is refused at once, and its session is closed.',
      scope: 'robots:write',
      answers: { 201: { description: 'The new token', schema: createdRobot } },
      errors: ['robot_not_found'],
      handle: async ({ caller, params }) => ({ status: 201, body: await robots.rotateToken(caller, params.id) }),
    }),
  ];
}
