import { dataPoint, listPointsQuery, logRecord } from '@drover/shared/api/data';
import { z } from 'zod';
import { type Endpoint, endpoint, JsonText } from '../http/endpoint.js';
import type { Robots } from '../robots/robots.js';
import type { Points } from './points.js';

const tag = 'Data';

const PAGING =
  'While data arrives, the next page by `offset` repeats what the newest have pushed down; by `before`, with the uuid of the last ' +
  'point read, it repeats and skips nothing.';

export function dataEndpoints(robots: Robots, points: Points): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/robots/{id}/logs',
      operationId: 'listLogs',
      tag,
      summary: 'Collected data as log records, newest first',
      description:
        'Records of rcl_interfaces/msg/Log give their own fields. Any other message is shown as JSON text in `msg`, cut at ' +
        '64 KiB. Without `source`, every source of the robot. A page over 16 MiB is a 413. ' +
        PAGING,
      scope: 'data:read',
      query: listPointsQuery,
      answers: { 200: { description: 'The records', schema: z.array(logRecord) } },
      errors: ['robot_not_found', 'payload_too_large'],
      handle: async ({ caller, params, query }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: new JsonText(await points.logs(robot, query)) };
      },
    }),
    endpoint({
      method: 'get',
      path: '/robots/{id}/data',
      operationId: 'listData',
      tag,
      summary: 'Collected data, the messages whole, newest first',
      description: ['A message whose bytes can’t be decoded has the payload `{"$undecodable": <why>}`.', PAGING].join(
        ' ',
      ),
      scope: 'data:read',
      query: listPointsQuery,
      answers: { 200: { description: 'The data points', schema: z.array(dataPoint) } },
      errors: ['robot_not_found', 'payload_too_large'],
      handle: async ({ caller, params, query }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: new JsonText(await points.data(robot, query)) };
      },
    }),
  ];
}
