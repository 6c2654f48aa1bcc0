import { assignComposeFileBody, removeComposeFileQuery, robotComposeFile } from '@drover/shared/api/compose';
import { robotComposeDetail, robotComposeService } from '@drover/shared/api/compose-detail';
import { composePlan, planComposeFileBody, serviceLogs, serviceLogsQuery } from '@drover/shared/api/compose-plan';
import { confirmation } from '@drover/shared/api/fields';
import { z } from 'zod';
import { type Endpoint, endpoint } from '../http/endpoint.js';
import type { Robots } from '../robots/robots.js';
import type { ComposeInquiries } from './inquiries.js';
import type { ComposeReports } from './reports.js';
import type { RobotCompose } from './robot-compose.js';

const tag = 'Compose files';

export interface RobotComposeParts {
  readonly robots: Robots;
  readonly compose: RobotCompose;
  readonly reports: ComposeReports;
  readonly inquiries: ComposeInquiries;
}

export function robotComposeEndpoints({ robots, compose, reports, inquiries }: RobotComposeParts): Endpoint[] {
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
      description:
        'Named volumes stay unless volumes=true. Waits for the robot’s update lock unless override_lock=true.',
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
    endpoint({
      method: 'post',
      path: '/robots/{id}/compose-file/plan',
      operationId: 'planRobotComposeFile',
      tag,
      summary: 'What putting a compose file on a robot would do, without doing it',
      description:
        'What would change, images to pull and whether the disk holds them, ports taken, what the robot’s policy refuses. Asked of ' +
        'the robot: 503 where it is offline or its agent too old.',
      scope: 'compose-files:read',
      body: planComposeFileBody,
      answers: { 200: { description: 'The plan', schema: composePlan } },
      errors: ['robot_not_found', 'compose_file_not_found', 'rate_limited'],
      handle: async ({ caller, params, body }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: await inquiries.plan(robot, body) };
      },
    }),
    endpoint({
      method: 'get',
      path: '/robots/{id}/compose-file/services/{service}/logs',
      operationId: 'getRobotComposeServiceLogs',
      tag,
      summary: 'The last lines that a service of a robot’s compose file wrote',
      description: 'Oldest first, by container. Asked of the robot: 503 where it is offline or its agent too old.',
      scope: 'compose-files:read',
      query: serviceLogsQuery,
      answers: { 200: { description: 'The lines', schema: serviceLogs } },
      errors: ['robot_not_found', 'compose_file_not_assigned', 'not_found', 'rate_limited'],
      handle: async ({ caller, params, query }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: await inquiries.logs(robot, params.service, query.tail) };
      },
    }),
  ];
}
