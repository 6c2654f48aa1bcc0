import { robotLink } from '@drover/shared/api/link';
import { type Endpoint, endpoint } from '../http/endpoint.js';
import type { Robots } from '../robots/robots.js';
import type { RobotLinks } from './links.js';

export function linkEndpoints(robots: Robots, links: RobotLinks): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/robots/{id}/link',
      operationId: 'getRobotLink',
      tag: 'Robots',
      summary: 'How a robot is connected, how much waits on it, and what it had to drop',
      description:
        'Of an offline robot, what it told last. What waits and what was dropped is told when it connects, and every 5 s where it changes.',
      scope: 'robots:read',
      answers: { 200: { description: 'The link', schema: robotLink } },
      errors: ['robot_not_found'],
      handle: async ({ caller, params }) => {
        const robot = await robots.find(caller.tenantKey, params.id);
        return { status: 200, body: await links.of(robot) };
      },
    }),
  ];
}
