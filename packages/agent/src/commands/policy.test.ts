import { expect, it } from 'vitest';
import { Policy } from '../policy/policy.js';
import { readPolicy } from '../policy/policy-file.js';
import { freshUuid, silent, topicCommand } from '../spool/fixture.js';
import { openInbox } from '../spool/open.js';
import { goal, setBool, setUp } from './fixture.js';

/** The robot has the last word: what its policy refuses touches nothing, whatever else is right or wrong of it. */

const policyOf = (rules: object) => new Policy(readPolicy(rules).rules);

it('refuses a command before anything touches ROS, naming the rule', async () => {
  const policy = policyOf({ topics: { deny: [{ match: '/cmd_*', rule: 'hands-off' }] } });
  const { peer, graph, run } = await setUp({ policy });
  const subscription = await peer.subscribe({ topic: '/cmd_vel', type: 'geometry_msgs/msg/Twist' });
  const message = "the robot's policy denies the topic /cmd_vel: rule hands-off (/cmd_*)";
  expect(await run()).toMatchObject({ state: 'error', error_code: 'not_allowed', message });
  expect(await run({ name: 'cmd_vel', type: 'no_such_msgs/msg/X' })).toMatchObject({ error_code: 'not_allowed' });
  expect((await graph.endpointsOf('/cmd_vel')).publishers).toEqual([]);
  expect(await run({ name: '/other' })).toMatchObject({ state: 'executed' });
  expect(subscription.received).toEqual([]);
});

it('refuses services and goals alike, and private names as they resolve', async () => {
  const policy = policyOf({ services: { allow: ['/lights'] }, actions: { deny: ['/drover_agent/**'] } });
  const { run } = await setUp({ policy });
  const services = 'no rule of policy.services.allow';
  expect(await run(setBool())).toMatchObject({ error_code: 'not_allowed', message: expect.stringContaining(services) });
  expect(await run(goal({ name: '~/go' }))).toMatchObject({
    error_code: 'not_allowed',
    message: expect.stringContaining('the action /drover_agent/go'),
  });
});

it('binds commands that waited from before the policy was changed', async () => {
  const first = await setUp();
  await first.stop();
  const files = { dataDir: first.dataDir, newId: freshUuid, now: Date.now, monotonicNow: () => 0, log: silent };
  const before = openInbox(files);
  const command = topicCommand();
  before.take([{ command, running: false, goalId: null }], Date.now());
  before.close();
  const second = await setUp({ dataDir: first.dataDir, policy: policyOf({ topics: { allow: [] } }) });
  expect(await second.ear.outcome(command.uuid)).toMatchObject({ state: 'error', error_code: 'not_allowed' });
});
