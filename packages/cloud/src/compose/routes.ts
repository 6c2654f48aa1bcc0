import {
  assignComposeFileBody,
  composeFile,
  createComposeFileBody,
  createdComposeFile,
  removeComposeFileQuery,
  robotComposeFile,
  updateComposeFileBody,
} from '@drover/shared/api/compose';
import { robotComposeDetail, robotComposeService } from '@drover/shared/api/compose-detail';
import { confirmation } from '@drover/shared/api/fields';
import { z } from 'zod';
import { type Endpoint, endpoint } from '../http/endpoint.js';
import type { Robots } from '../robots/robots.js';
import type { ComposeFiles } from './files.js';
import type { ComposeReports } from './reports.js';
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

export function robotComposeEndpoints(robots: Robots, compose: RobotCompose, reports: ComposeReports): Endpoint[] {
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
        const version = await compose.assign(robot, body);
        const message = `version ${version} of compose file ${body.id} was put on robot ${robot.id}`;
        return { status: 202, body: { message } };
      },
    }),
    endpoint({
      method: 'delete',
      path: '/robots/{id}/compose-file',
      operationId: 'removeRobotComposeFile',
      tag,
      summary: 'Take the compose file off a robot',
      description: 'Named volumes stay unless volumes=true.',
      scope: 'compose-files:write',
      query: removeComposeFileQuery,
      answers: { 202: { description: 'The robot takes it down', schema: confirmation } },
      errors: ['robot_not_found', 'compose_file_not_assigned'],
      handle: async ({ caller, params, query }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        await compose.remove(robot, query);
        return { status: 202, body: { message: `the compose file is being taken off robot ${robot.id}` } };
      },
    }),
    endpoint({
      method: 'get',
      path: '/robots/{id}/compose-file/detail',
      operationId: 'getRobotComposeDetail',
      tag,
      summary: 'How a robot’s deployment stands: phase, images, what runs, what failed and why',
      description: 'As the robot told last; of an offline robot too.',
      scope: 'compose-files:read',
      answers: { 200: { description: 'The deployment', schema: robotComposeDetail } },
      errors: ['robot_not_found', 'compose_file_not_assigned'],
      handle: async ({ caller, params }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: await reports.detail(robot) };
      },
    }),
    endpoint({
      method: 'get',
      path: '/robots/{id}/compose-file/services',
      operationId: 'listRobotComposeServices',
      tag,
      summary: 'The containers of a robot’s compose file, each with its state and health',
      description: 'As the robot told last; of an offline robot too.',
      scope: 'compose-files:read',
      answers: { 200: { description: 'The containers', schema: z.array(robotComposeService) } },
      errors: ['robot_not_found', 'compose_file_not_assigned'],
      handle: async ({ caller, params }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: await reports.services(robot) };
      },
    }),
  ];
}
