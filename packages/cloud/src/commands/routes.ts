import {
  type CreateCommandBody,
  command,
  commandCheck,
  commandOutcome,
  createCommandBody,
  createdCommand,
  DEFAULT_TIMEOUT_S,
  type ListCommandsQuery,
  listCommandsQuery,
  robotCommand,
} from '@drover/shared/api/commands';
import { ApiError } from '@drover/shared/api/errors';
import { confirmation } from '@drover/shared/api/fields';
import { checkRosName } from '@drover/shared/ros/names';
import { normalizeTypeName, TypeNameError } from '@drover/shared/ros/types';
import { z } from 'zod';
import type { Store } from '../db/store.js';
import { type Endpoint, endpoint } from '../http/endpoint.js';
import { checkIdempotencyKey, IDEMPOTENCY_HEADER } from '../http/idempotency.js';
import type { RobotRef, Robots } from '../robots/robots.js';
import { type CommandRequest, UNTAKEN_MAX, WAITING_MAX } from './admission.js';
import type { Commands } from './commands.js';
import type { DryRun } from './dry-run.js';
import { shownCommand, shownOutcome, shownPage, shownRobotCommand } from './shown.js';
import { findCommand, findOutcome } from './store.js';

const tag = 'Commands';

/** A client told that too many commands wait should not ask again at once. */
const QUEUE_FULL_RETRY_S = 10;

/** Under which idempotency keys of a new command are kept. */
const OF_CREATE = { route: 'createCommand' };

const INTERFACE_KIND = { topic: 'msg', service: 'srv', action_send_goal: 'action' } as const;

export function commandEndpoints(deps: {
  commands: Commands;
  dryRun: DryRun;
  robots: Robots;
  store: Store;
}): Endpoint[] {
  const { commands, dryRun, robots, store } = deps;

  return [
    endpoint({
      method: 'get',
      path: '/commands',
      operationId: 'listCommands',
      tag,
      summary: 'Commands of all robots, newest first',
      scope: 'commands:read',
      query: listCommandsQuery,
      answers: { 200: { description: 'The commands', schema: z.array(command) } },
      errors: ['payload_too_large'],
      handle: async ({ caller, query }) => {
        const filter = { tenantKey: caller.tenantKey, ...filterOf(query) };
        return { status: 200, body: await shownPage(store.db, filter, shownCommand) };
      },
    }),
    endpoint({
      method: 'get',
      path: '/robots/{id}/commands',
      operationId: 'listRobotCommands',
      tag,
      summary: 'Commands of one robot, newest first',
      scope: 'commands:read',
      query: listCommandsQuery,
      answers: { 200: { description: 'The commands', schema: z.array(robotCommand) } },
      errors: ['robot_not_found', 'payload_too_large'],
      handle: async ({ caller, params, query }) => {
        const { key: robotKey } = await robots.find(caller.tenantKey, params.id);
        const filter = { tenantKey: caller.tenantKey, robotKey, ...filterOf(query) };
        return { status: 200, body: await shownPage(store.db, filter, shownRobotCommand) };
      },
    }),
    endpoint({
      method: 'post',
      path: '/robots/{id}/commands',
      operationId: 'createCommand',
      tag,
      summary: 'Send a command to a robot',
      description:
        'Answers as soon as the command is stored; how it ended is at /commands/{uuid}/outcome. ' +
        'It runs at most once and never late: with ttl_s 0 it expires unless the robot has it within 5 seconds.',
      scope: 'commands:write',
      headers: z.object({
        [IDEMPOTENCY_HEADER]: z
          .string()
          .optional()
          .meta({
            description:
              'makes the POST safe to repeat for 24 hours: with the same body the same command is answered, with another ' +
              'one 409. 1 to 255 printable ASCII characters; each robot has its own',
          }),
      }),
      body: createCommandBody,
      answers: {
        201: { description: 'The new command', schema: createdCommand },
        200: { description: 'The command that the same idempotency-key made before', schema: createdCommand },
      },
      errors: ['robot_not_found', 'queue_full', 'idempotency_conflict'],
      handle: async ({ caller, params, body, header }) => {
        const request = checked(body);
        const robot = await robots.find(caller.tenantKey, params.id);
        const key = checkIdempotencyKey(header(IDEMPOTENCY_HEADER));
        const claim =
          key === undefined ? undefined : { ...OF_CREATE, tenantKey: caller.tenantKey, robotKey: robot.key, key, body };
        const made = await commands.post(robot, request, { claim, refused: () => queueFull(robot) });
        return { status: made.replayed ? 200 : 201, body: { uuid: made.uuid } };
      },
    }),
    endpoint({
      method: 'post',
      path: '/robots/{id}/commands/check',
      operationId: 'checkCommand',
      tag,
      summary: 'Try a command without sending it',
      description:
        'The body of a command; nothing is sent, stored or changed. Says of each thing that a command meets on its ' +
        'way whether it is ready for it now, also while the robot is offline. An idempotency-key is ignored.',
      scope: 'commands:write',
      body: createCommandBody,
      answers: { 200: { description: 'What was found', schema: commandCheck } },
      errors: ['robot_not_found', 'rate_limited'],
      handle: async ({ caller, params, body }) => {
        const request = checked(body);
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: await dryRun.check(robot, request) };
      },
    }),
    endpoint({
      method: 'get',
      path: '/commands/{uuid}',
      operationId: 'getCommand',
      tag,
      summary: 'One command',
      scope: 'commands:read',
      answers: { 200: { description: 'The command', schema: command } },
      errors: ['command_not_found'],
      handle: async ({ caller, params }) => {
        return {
          status: 200,
          body: shownCommand(found(params.uuid, await findCommand(store.reads, caller.tenantKey, params.uuid))),
        };
      },
    }),
    endpoint({
      method: 'get',
      path: '/commands/{uuid}/outcome',
      operationId: 'getCommandOutcome',
      tag,
      summary: 'How a command ended, or how far it has come',
      scope: 'commands:read',
      answers: { 200: { description: 'The outcome', schema: commandOutcome } },
      errors: ['command_not_found'],
      handle: async ({ caller, params }) => {
        return {
          status: 200,
          body: shownOutcome(found(params.uuid, await findOutcome(store.reads, caller.tenantKey, params.uuid))),
        };
      },
    }),
    endpoint({
      method: 'post',
      path: '/commands/{uuid}/cancel',
      operationId: 'cancelCommand',
      tag,
      summary: 'Cancel a command that waits, or a goal',
      description:
        'One that still waits ends as canceled; a goal ends as goal_canceled once its server has stopped it.',
      scope: 'commands:write',
      answers: { 202: { description: 'It will end', schema: confirmation } },
      errors: ['command_not_found', 'command_ended', 'command_not_cancelable'],
      handle: async ({ caller, params }) => {
        switch (await commands.cancel(caller.tenantKey, params.uuid)) {
          case 'canceled':
            return { status: 202, body: { message: `command ${params.uuid} is being cancelled` } };
          case 'unknown':
            throw commandNotFound(params.uuid);
          case 'ended':
            throw new ApiError('command_ended', 'the command has ended already; its outcome says how');
          case 'not_cancelable':
            throw new ApiError(
              'command_not_cancelable',
              'the robot has it already, and a message or a service call can not be taken back; only goals can be cancelled',
            );
        }
      },
    }),
  ];
}

function queueFull(robot: RobotRef): ApiError {
  const message =
    `robot ${robot.id} has too many commands that it has not taken: ${WAITING_MAX} may wait while it is offline, ` +
    `${UNTAKEN_MAX} while it is connected`;
  return new ApiError('queue_full', message, { retryAfterS: QUEUE_FULL_RETRY_S });
}

function filterOf(query: ListCommandsQuery) {
  return {
    offset: query.offset,
    limit: query.limit,
    state: query.state,
    interface: query.interface,
    name: query.name,
  };
}

function found<T>(uuid: string, row: T | undefined): T {
  if (!row) throw commandNotFound(uuid);
  return row;
}

function commandNotFound(uuid: string): ApiError {
  return new ApiError('command_not_found', `there is no command ${uuid.slice(0, 64)}`);
}

/** What the schema can't see: names and types by ROS's rules. @throws ApiError invalid_request */
function checked(body: CreateCommandBody): CommandRequest {
  const details = [];
  const wrongName = checkRosName(body.name);
  if (wrongName !== null) details.push({ path: 'name', message: wrongName });
  let type = body.type;
  try {
    type = normalizeTypeName(body.type, INTERFACE_KIND[body.interface]);
  } catch (error) {
    if (!(error instanceof TypeNameError)) throw error;
    details.push({ path: 'type', message: `${error.message} for interface ${body.interface}` });
  }
  if (body.latched && body.interface !== 'topic') {
    details.push({ path: 'latched', message: 'only a topic can be latched' });
  }
  if (details.length > 0) {
    const words = details.map(({ path, message }) => `${path}: ${message}`).join('; ');
    throw new ApiError('invalid_request', `the command is not valid: ${words}`, { details });
  }
  return {
    interface: body.interface,
    name: body.name,
    type,
    payload: body.payload,
    timeoutMs: Math.round((body.timeout_s ?? DEFAULT_TIMEOUT_S[body.interface]) * 1000),
    ttlMs: Math.round(body.ttl_s * 1000),
    latched: body.latched,
  };
}
