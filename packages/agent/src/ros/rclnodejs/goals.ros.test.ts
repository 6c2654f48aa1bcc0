import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type GoalHandle, type RosGraph, RosTimeoutError, ServerGoneError } from '../graph.js';
import { type RclpyPeer, startRclpyPeer } from '../testing/rclpy-peer.js';
import { describeRos } from '../testing/ros.js';
import { createRclnodejsGraph } from './graph.js';

const DOMAIN_ID = 12;
const FIBONACCI = 'test_msgs/action/Fibonacci';
const STATUS = 'action_msgs/msg/GoalStatusArray';
const CANCELED = 5;

describeRos('goals whose server fails', () => {
  let graph: RosGraph;
  let peer: RclpyPeer;

  beforeAll(async () => {
    process.env.ROS_AUTOMATIC_DISCOVERY_RANGE = 'LOCALHOST';
    graph = createRclnodejsGraph({ domainId: DOMAIN_ID, log: { warn() {} } });
    await graph.start();
  });
  afterAll(() => graph?.stop());
  beforeEach(async () => {
    peer = await startRclpyPeer({ domainId: DOMAIN_ID });
  });
  afterEach(() => peer.stop());

  const send = (action: string, options: object = {}): Promise<GoalHandle> =>
    graph.sendGoal({
      action,
      type: FIBONACCI,
      goalId: randomBytes(16),
      goal: { order: 30 },
      readyTimeoutMs: 5000,
      acceptTimeoutMs: 5000,
      onFeedback: () => {},
      ...options,
    });

  it('cancels a goal that is accepted after nobody waits for it any more', async () => {
    await peer.serveFibonacci('/late', { acceptDelayMs: 300, stepMs: 50 });
    const statuses = await peer.subscribe({
      topic: '/late/_action/status',
      type: STATUS,
      durability: 'transient_local',
    });
    await expect(send('/late', { acceptTimeoutMs: 100 })).rejects.toBeInstanceOf(RosTimeoutError);
    await expect
      .poll(() => statuses.received.some((message) => lastStatus(message) === CANCELED), { timeout: 10_000 })
      .toBe(true);
  });

  it('sends a goal under the id that the caller chose', async () => {
    await peer.serveFibonacci('/chosen');
    const statuses = await peer.subscribe({
      topic: '/chosen/_action/status',
      type: STATUS,
      durability: 'transient_local',
    });
    const goalId = randomBytes(64).subarray(7, 23);
    const goal = await send('/chosen', { goalId, goal: { order: 3 } });
    await goal.result;
    expect(JSON.stringify(statuses.received.at(-1))).toContain(goalId.toString('base64'));
  });

  // A killed process vanishes from the graph after some 10 s.
  it('says that the server is gone when another has taken its place', { timeout: 40_000 }, async () => {
    await peer.serveFibonacci('/restarted', { stepMs: 1000 });
    const goal = await send('/restarted');
    await peer.kill();
    peer = await startRclpyPeer({ domainId: DOMAIN_ID });
    await peer.serveFibonacci('/restarted');
    await expect(goal.result).rejects.toBeInstanceOf(ServerGoneError);
  });

  it('gives up a cancel that a dead server does not answer', { timeout: 20_000 }, async () => {
    await peer.serveFibonacci('/dead', { stepMs: 1000 });
    const goal = await send('/dead');
    await peer.kill();
    await expect(goal.cancel()).rejects.toBeInstanceOf(RosTimeoutError);
    peer = await startRclpyPeer({ domainId: DOMAIN_ID });
  });
});

function lastStatus(message: unknown): number | undefined {
  return (message as { status_list: { status: number }[] }).status_list.at(-1)?.status;
}
