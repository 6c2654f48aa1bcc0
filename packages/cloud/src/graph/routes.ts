import { ApiError } from '@drover/shared/api/errors';
import { robotGraph, rosInterface } from '@drover/shared/api/graph';
import { type InterfaceKind, normalizeTypeName, TypeNameError } from '@drover/shared/ros/types';
import { type Endpoint, endpoint } from '../http/endpoint.js';
import type { Robots } from '../robots/robots.js';
import type { RobotGraphs } from './robot-graph.js';

const tag = 'Graph';

const KINDS: readonly string[] = ['msg', 'srv', 'action'] satisfies InterfaceKind[];

export function graphEndpoints(robots: Robots, graphs: RobotGraphs): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/robots/{id}/graph',
      operationId: 'getRobotGraph',
      tag,
      summary: 'The robot’s ROS graph now',
      description:
        'Nodes, topics with the QoS of each publisher and subscription, services and actions. What ROS hides ' +
        '(names with a part that begins with _) is left out. Asked of the robot: 503 where it is offline.',
      scope: 'robots:read',
      answers: { 200: { description: 'The graph', schema: robotGraph } },
      errors: ['robot_not_found', 'rate_limited'],
      handle: async ({ caller, params }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: await graphs.graph(robot) };
      },
    }),
    endpoint({
      method: 'get',
      path: '/robots/{id}/interfaces/{pkg}/{kind}/{name}',
      operationId: 'getRobotInterface',
      tag,
      summary: 'A ROS type as the robot has it',
      description:
        'Definition, fields, an example and a JSON Schema of each part: the message, a service’s request and ' +
        'response, or an action’s goal, result and feedback. Asked of the robot: 503 where it is offline.',
      scope: 'robots:read',
      answers: { 200: { description: 'The type', schema: rosInterface } },
      errors: ['robot_not_found', 'not_found', 'rate_limited'],
      handle: async ({ caller, params }) => {
        const type = typeOf(params);
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: await graphs.interface(robot, type) };
      },
    }),
  ];
}

/** @throws ApiError not_found | invalid_request */
function typeOf({ pkg, kind, name }: { pkg: string; kind: string; name: string }): string {
  if (!isKind(kind)) {
    throw new ApiError('not_found', `an interface is a msg, a srv or an action, not a ${kind.slice(0, 64)}`);
  }
  try {
    return normalizeTypeName(`${pkg}/${kind}/${name}`, kind);
  } catch (error) {
    if (!(error instanceof TypeNameError)) throw error;
    throw new ApiError('invalid_request', error.message, { cause: error });
  }
}

function isKind(text: string): text is InterfaceKind {
  return KINDS.includes(text);
}
