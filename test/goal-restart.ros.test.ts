import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RclpyPeer, startRclpyPeer } from '../packages/agent/src/ros/testing/rclpy-peer.js';
import { describeRos } from '../packages/agent/src/ros/testing/ros.js';
import type { TestAgent } from './support/agent.js';
import type { TestCloud } from './support/cloud.js';
import { type OnRos, startOnRos } from './support/on-ros.js';

const ROS_DOMAIN_ID = 41;
const FIBONACCI = 'test_msgs/action/Fibonacci';

interface Running {
  state: string;
  feedback: { sequence: number[] } | null;
}

/** Each on an action of its own; a killed process keeps its place in the graph for some twenty seconds. */
describeRos('a goal on real ROS 2 that runs while the agent is killed', () => {
  let system: OnRos;
  let cloud: TestCloud;
  let agent: TestAgent;
  let peer: RclpyPeer;

  beforeAll(async () => {
    system = await startOnRos({ domainId: ROS_DOMAIN_ID });
    ({ cloud, agent, peer } = system);
  });

  afterAll(async () => {
    await system?.stop();
  });

  /** Sends a goal and waits until it runs. */
  async function begin(name: string, order: number, more: object = {}): Promise<string> {
    const goal = { interface: 'action_send_goal', name, type: FIBONACCI, payload: { order }, ...more };
    const { body } = await cloud.call<{ uuid: string }>('POST', '/robots/rover-1/commands', goal);
    await cloud.until<Running>(`/commands/${body.uuid}/outcome`, (outcome) => outcome.feedback !== null);
    return body.uuid;
  }

  /** Waits for feedback beyond `length`: from an agent that has found the goal again. */
  const feedbackBeyond = (uuid: string, length: number) =>
    cloud.until<Running>(`/commands/${uuid}/outcome`, (found) => (found.feedback?.sequence.length ?? 0) > length);

  it('is found again: its feedback goes on, its result is told, and the server saw one goal', async () => {
    await peer.serveFibonacci('/found', { stepMs: 500 });
    const uuid = await begin('/found', 20);
    await agent.process.kill9();
    const { feedback } = await cloud.get<Running>(`/commands/${uuid}/outcome`);
    await agent.restart();
    expect(await feedbackBeyond(uuid, (feedback?.sequence.length ?? 0) + 1)).toMatchObject({ state: 'sent' });
    const outcome = await cloud.outcome(uuid);
    expect(outcome).toMatchObject({ state: 'executed', error_code: null });
    expect((outcome.result as { sequence: number[] }).sequence.at(-1)).toBe(6765);
    expect(await peer.goalsAsked('/found')).toBe(1);
  });

  it('has ended before the agent is back: its result is told', async () => {
    await peer.serveFibonacci('/quick', { stepMs: 200 });
    const uuid = await begin('/quick', 4);
    await agent.process.kill9();
    const statuses = await peer.subscribe({
      topic: '/quick/_action/status',
      type: 'action_msgs/msg/GoalStatusArray',
      durability: 'transient_local',
    });
    let status = '';
    while (!status.includes('"status":4')) status = JSON.stringify(await statuses.next());
    await agent.restart();
    expect(await cloud.outcome(uuid)).toMatchObject({ state: 'executed', result: { sequence: [0, 1, 1, 2, 3] } });
    expect(await peer.goalsAsked('/quick')).toBe(1);
  });

  it('is cancelled by a cancel that was asked for while the agent was down', async () => {
    await peer.serveFibonacci('/cancelled', { stepMs: 500 });
    const uuid = await begin('/cancelled', 40);
    await agent.process.kill9();
    expect((await cloud.call('POST', `/commands/${uuid}/cancel`)).status).toBe(202);
    await agent.restart();
    const outcome = await cloud.outcome(uuid);
    expect(outcome).toMatchObject({ error_code: 'goal_canceled', result: { sequence: expect.any(Array) } });
    expect(await peer.goalsAsked('/cancelled')).toBe(1);
  });

  it('is cancelled on the robot where its time is over when the agent is back', async () => {
    await peer.serveFibonacci('/late', { stepMs: 500 });
    const uuid = await begin('/late', 40, { timeout_s: 2 });
    await agent.process.kill9();
    // Its time counts on while nobody is there.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await agent.restart();
    const outcome = await cloud.outcome(uuid);
    expect(outcome).toMatchObject({ error_code: 'timeout', result: { sequence: expect.any(Array) } });
    expect(outcome.error_message).toContain('it was cancelled');
  });

  it('is outcome_unknown where the server was restarted, and is not sent again', async () => {
    await peer.serveFibonacci('/forgotten', { stepMs: 500 });
    const uuid = await begin('/forgotten', 40);
    await Promise.all([agent.process.kill9(), peer.kill()]);
    peer = await startRclpyPeer({ domainId: ROS_DOMAIN_ID });
    await peer.serveFibonacci('/forgotten');
    await agent.restart();
    const outcome = await cloud.outcome(uuid);
    expect(outcome).toMatchObject({ error_code: 'outcome_unknown', result: null });
    expect(outcome.error_message).toContain('/forgotten');
    expect(await peer.goalsAsked('/forgotten')).toBe(0);
  });

  it('is outcome_unknown where the server is gone for good', async () => {
    await peer.serveFibonacci('/gone', { stepMs: 500 });
    // Its server is not waited for longer than it may run.
    const uuid = await begin('/gone', 40, { timeout_s: 8 });
    await Promise.all([agent.process.kill9(), peer.kill()]);
    await agent.restart();
    expect(await cloud.outcome(uuid)).toMatchObject({ error_code: 'outcome_unknown' });
    peer = await startRclpyPeer({ domainId: ROS_DOMAIN_ID });
  });

  // A killed process vanishes from the graph after some 20 s.
  it('is outcome_unknown where its server is killed after the agent has found it again', async () => {
    await peer.serveFibonacci('/killed', { stepMs: 500 });
    const uuid = await begin('/killed', 40);
    await agent.process.kill9();
    const { feedback } = await cloud.get<Running>(`/commands/${uuid}/outcome`);
    await agent.restart();
    await feedbackBeyond(uuid, (feedback?.sequence.length ?? 0) + 1);
    await peer.kill();
    expect(await cloud.outcome(uuid, 40_000)).toMatchObject({ error_code: 'outcome_unknown' });
    peer = await startRclpyPeer({ domainId: ROS_DOMAIN_ID });
  }, 60_000);
});
