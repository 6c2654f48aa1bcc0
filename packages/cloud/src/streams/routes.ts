import { confirmation } from '@drover/shared/api/fields';
import { createStreamBody, stream, type UpdateStreamBody, updateStreamBody } from '@drover/shared/api/streams';
import { z } from 'zod';
import { sourceName } from '../data/source-name.js';
import type { Caller } from '../http/caller.js';
import { type Answer, type Endpoint, endpoint } from '../http/endpoint.js';
import type { Robots } from '../robots/robots.js';
import type { Streams } from './streams.js';

const tag = 'Streams';

export function streamEndpoints(robots: Robots, streams: Streams): Endpoint[] {
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
      ...updating,
      path: '/robots/{id}/{stream}',
      operationId: 'updateStreamBySource',
      summary: 'Enable or disable a stream, change its rate (the stream’s source right behind the robot)',
      handle: update,
    }),
  ];
}
