import {
  assignComposeFileBody,
  composeFile,
  createComposeFileBody,
  createdComposeFile,
  robotComposeFile,
  updateComposeFileBody,
} from '@drover/shared/api/compose';
import { confirmation } from '@drover/shared/api/fields';
import { z } from 'zod';
import { type Endpoint, endpoint } from '../http/endpoint.js';
import type { Robots } from '../robots/robots.js';
import type { ComposeFiles } from './files.js';
import type { RobotCompose } from './robot-compose.js';

const tag = 'Compose files';

export function composeFileEndpoints(files: ComposeFiles): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/compose-files',
      operationId: 'listComposeFiles',
      tag,
      summary: 'All compose files, oldest first',
      scope: 'compose-files:read',
      answers: { 200: { description: 'The compose files', schema: z.array(composeFile) } },
      errors: [],
      handle: async ({ caller }) => ({ status: 200, body: await files.list(caller.tenantKey) }),
    }),
    endpoint({
      method: 'post',
      path: '/compose-files',
      operationId: 'createComposeFile',
      tag,
      summary: 'Store a compose file',
      description: 'The content is checked against the Compose schema, and must have a service.',
      scope: 'compose-files:write',
      body: createComposeFileBody,
      answers: { 201: { description: 'Stored', schema: createdComposeFile } },
      errors: ['compose_file_exists'],
      handle: async ({ caller, body }) => {
        await files.create(caller.tenantKey, body);
        return { status: 201, body: { id: body.id } };
      },
    }),
    endpoint({
      method: 'get',
      path: '/compose-files/{id}',
      operationId: 'getComposeFile',
      tag,
      summary: 'One compose file, at its newest version',
      scope: 'compose-files:read',
      answers: { 200: { description: 'The compose file', schema: composeFile } },
      errors: ['compose_file_not_found'],
      handle: async ({ caller, params }) => ({ status: 200, body: await files.get(caller.tenantKey, params.id) }),
    }),
    endpoint({
      method: 'patch',
      path: '/compose-files/{id}',
      operationId: 'updateComposeFile',
      tag,
      summary: 'Make a new version of a compose file',
      description: 'Robots keep the version they were assigned until they are assigned the file again.',
      scope: 'compose-files:write',
      body: updateComposeFileBody,
      answers: { 200: { description: 'Updated', schema: confirmation } },
      errors: ['compose_file_not_found'],
      handle: async ({ caller, params, body }) => {
        const version = await files.update(caller.tenantKey, params.id, body);
        return { status: 200, body: { message: `compose file ${params.id} is now at version ${version}` } };
      },
    }),
    endpoint({
      method: 'delete',
      path: '/compose-files/{id}',
      operationId: 'deleteComposeFile',
      tag,
      summary: 'Delete a compose file that no robot uses',
      scope: 'compose-files:write',
      answers: { 204: { description: 'Deleted' } },
      errors: ['compose_file_not_found', 'compose_file_in_use'],
      handle: async ({ caller, params }) => {
        await files.remove(caller.tenantKey, params.id);
        return { status: 204 };
      },
    }),
  ];
}

export function robotComposeEndpoints(robots: Robots, compose: RobotCompose): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/robots/{id}/compose-file',
      operationId: 'getRobotComposeFile',
      tag,
      summary: 'The compose file on a robot',
      scope: 'compose-files:read',
      answers: { 200: { description: 'The compose file and its state', schema: robotComposeFile } },
      errors: ['robot_not_found', 'compose_file_not_assigned'],
      handle: async ({ caller, params }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: await compose.get(robot) };
      },
    }),
    endpoint({
      method: 'post',
      path: '/robots/{id}/compose-file',
      operationId: 'assignComposeFile',
      tag,
      summary: 'Put a compose file on a robot',
      scope: 'compose-files:write',
      body: assignComposeFileBody,
      answers: { 202: { description: 'Assigned; the robot brings it up', schema: confirmation } },
      errors: ['robot_not_found', 'compose_file_not_found'],
      handle: async ({ caller, params, body }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        await compose.assign(robot, body.id);
        return { status: 202, body: { message: `compose file ${body.id} was put on robot ${robot.id}` } };
      },
    }),
    endpoint({
      method: 'delete',
      path: '/robots/{id}/compose-file',
      operationId: 'removeRobotComposeFile',
      tag,
      summary: 'Take the compose file off a robot',
      scope: 'compose-files:write',
      answers: { 202: { description: 'The robot takes it down', schema: confirmation } },
      errors: ['robot_not_found', 'compose_file_not_assigned'],
      handle: async ({ caller, params }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        await compose.remove(robot);
        return { status: 202, body: { message: `the compose file is being taken off robot ${robot.id}` } };
      },
    }),
  ];
}
