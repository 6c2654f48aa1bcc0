import { confirmation } from '@drover/shared/api/fields';
import {
  createStreamBody,
  stream,
  streamOptionsBody,
  streamStatus,
  type UpdateStreamBody,
  updateStreamBody,
} from '@drover/shared/api/streams';
import { z } from 'zod';
import { sourceName } from '../data/source-name.js';
import type { Caller } from '../http/caller.js';
import { type Answer, type Endpoint, endpoint } from '../http/endpoint.js';
import type { Robots } from '../robots/robots.js';
import type { StreamReports } from './status.js';
import type { Streams } from './streams.js';

const tag = 'Streams';

export function streamEndpoints(robots: Robots, streams: Streams, reports: StreamReports): Endpoint[] {
  const update = async (call: {
    caller: Caller;
    params: { id: string; stream: string };
    body: UpdateStreamBody;
  }): Promise<Answer> => {
    const robot = await robots.find(call.caller.tenantKey, call.params.id);
    const source = sourceName(call.params.stream);
    await streams.update(robot, source, call.body);
    const state = call.body.enabled ? `enabled at ${call.body.hz} Hz` : 'disabled';
    return { status: 200, body: { message: `stream ${source} of robot ${robot.id} is now ${state}` } };
  };
  const updating = {
    method: 'patch',
    tag,
    scope: 'data:write',
    body: updateStreamBody,
    answers: { 200: { description: 'Updated', schema: confirmation } },
    errors: ['robot_not_found', 'stream_not_found'],
  } as const;
  return [
    endpoint({
      method: 'get',
      path: '/robots/{id}/streams',
      operationId: 'listStreams',
      tag,
      summary: 'All streams of a robot, oldest first',
      scope: 'data:read',
      answers: { 200: { description: 'The streams', schema: z.array(stream) } },
      errors: ['robot_not_found'],
      handle: async ({ caller, params }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: await streams.list(robot) };
      },
    }),
    endpoint({
      method: 'post',
      path: '/robots/{id}/streams',
      operationId: 'createStream',
      tag,
      summary: 'Sample a ROS topic',
      description: 'A type that the robot doesn’t know is accepted and records nothing.',
      scope: 'data:write',
      body: createStreamBody,
      answers: { 201: { description: 'Created', schema: confirmation } },
      errors: ['robot_not_found', 'stream_exists'],
      handle: async ({ caller, params, body }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        await streams.create(robot, body);
        return {
          status: 201,
          body: { message: `stream ${body.source} at ${body.hz} Hz created on robot ${robot.id}` },
        };
      },
    }),
    endpoint({
      ...updating,
      path: '/robots/{id}/streams/{stream}',
      operationId: 'updateStream',
      summary: 'Enable or disable a stream, change its rate',
      handle: update,
    }),
    endpoint({
      method: 'delete',
      path: '/robots/{id}/streams/{stream}',
      operationId: 'deleteStream',
      tag,
      summary: 'Stop sampling a topic; what was collected stays',
      scope: 'data:write',
      answers: { 204: { description: 'Deleted' } },
      errors: ['robot_not_found', 'stream_not_found'],
      handle: async ({ caller, params }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        await streams.remove(robot, sourceName(params.stream));
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'get',
      path: '/robots/{id}/streams/{stream}/status',
      operationId: 'getStreamStatus',
      tag,
      summary: 'What a stream is doing on its robot, and why where it records nothing',
      description: 'As the robot last told: a change of state at once, counters about every 5 s.',
      scope: 'data:read',
      answers: { 200: { description: 'The status', schema: streamStatus } },
      errors: ['robot_not_found', 'stream_not_found'],
      handle: async ({ caller, params }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: await reports.statusOf(robot, sourceName(params.stream)) };
      },
    }),
    endpoint({
      method: 'patch',
      path: '/robots/{id}/streams/{stream}/options',
      operationId: 'updateStreamOptions',
      tag,
      summary: 'Bound how large a stream’s messages may be, and how old its data',
      scope: 'data:write',
      body: streamOptionsBody,
      answers: { 200: { description: 'Updated', schema: confirmation } },
      errors: ['robot_not_found', 'stream_not_found'],
      handle: async ({ caller, params, body }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        const source = sourceName(params.stream);
        await streams.setOptions(robot, source, body);
        return { status: 200, body: { message: `options of stream ${source} of robot ${robot.id} are set` } };
      },
    }),
    endpoint({
      ...updating,
      path: '/robots/{id}/{stream}',
      operationId: 'updateStreamBySource',
      summary: 'Enable or disable a stream, change its rate (the stream’s source right behind the robot)',
      handle: update,
    }),
  ];
}
