import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RobotRef } from '../robots/robots.js';
import { type ConnectedCloud, startConnectedCloud } from '../testing/connected-cloud.js';
import type { Peer } from './test-peer.js';

const REQUEST = { interface: 'topic', name: '/cmd_vel', type: 'geometry_msgs/msg/Twist', payload: {} } as const;
const BOUNDS = { timeoutMs: 10_000, ttlMs: 0, latched: false };
const TOGETHER = 20;

describe('to a robot, what is committed together', () => {
  let cloud: ConnectedCloud;
  let peer: Peer;
  let robot: RobotRef;
  const writes = () => wholes.mock.calls.length + vectors.mock.calls.length;
  let wholes: ReturnType<typeof spy>;
  let vectors: ReturnType<typeof spy>;
  const spy = (method: '_write' | '_writev') => vi.spyOn(Socket.prototype as Required<Socket>, method);

  beforeEach(async () => {
    cloud = await startConnectedCloud();
    peer = (await cloud.connect((await cloud.robot('rover-1')).token)).peer;
    robot = await cloud.services.robots.find((await cloud.services.tenants.findKey('default')) ?? 0, 'rover-1');
    wholes = spy('_write');
    vectors = spy('_writev');
  });

  afterEach(async () => {
    vi.restoreAllMocks();
    await cloud.stop();
  });

  it('leaves in one write: commands, and the acknowledgements of outcomes', async () => {
    const post = () => cloud.services.commands.post(robot, { ...REQUEST, ...BOUNDS }, { refused: () => new Error() });
    const made = await Promise.all(Array.from({ length: TOGETHER }, post));
    for (const { uuid } of made) expect((await peer.next('command')).uuid).toBe(uuid);
    expect(writes()).toBe(1);

    // As many as come by one read are answered with one write; who said them wrote each by itself.
    for (const [at, { uuid }] of made.entries()) {
      peer.say({
        ...{ kind: 'command_outcome', uuid, state: 'executed', error_code: null, message: null, result: null },
        ...{ feedback: null, finished_robot_ms: cloud.clock.nowMs, inbox_version: at },
      });
    }
    const before = writes();
    for (const { uuid } of made) expect((await peer.next('outcome_ack')).uuid).toBe(uuid);
    expect(writes() - before).toBeLessThan(TOGETHER / 2);
  });
});
