import { expect, it, onTestFinished } from 'vitest';
import { Policy } from '../policy/policy.js';
import { readPolicy } from '../policy/policy-file.js';
import { NameResolver, type RemapRule } from '../ros/name-resolution.js';
import { createSimulatedGraph } from '../ros/simulated/graph.js';
import { simulatedPeer } from '../ros/simulated/peer.fixture.js';
import { goal, setBool, setUp } from './fixture.js';

/** Commands act on names as the agent's node has them: in its namespace, remapped. */

async function worldOf(namespace: string, ...rules: RemapRule[]) {
  const graph = createSimulatedGraph({ names: new NameResolver(namespace, rules), onFault: () => {} });
  await graph.start();
  onTestFinished(() => graph.stop());
  return { graph, peer: simulatedPeer(graph) };
}

it('acts on topics, services and actions where the remaps lead', async () => {
  const world = await worldOf(
    '/r1',
    { from: 'cmd_vel', to: '/base/cmd_vel' },
    { from: '/motors', to: '~/motors' },
    { from: '/fibonacci', to: 'fibonacci' },
  );
  const { peer, run } = await setUp({ world });
  const subscription = await peer.subscribe({ topic: '/base/cmd_vel', type: 'geometry_msgs/msg/Twist' });
  await peer.serveSetBool('/r1/drover_agent/motors');
  await peer.serveFibonacci('/r1/fibonacci', { stepMs: 1 });
  expect(await run({ name: 'cmd_vel', payload: { linear: { x: 0.5 } } })).toMatchObject({
    state: 'executed',
    result: { matched_subscribers: 1 },
  });
  expect(await subscription.next()).toMatchObject({ linear: { x: 0.5 } });
  expect(await run(setBool())).toMatchObject({ state: 'executed', result: { success: true } });
  expect(await run(goal())).toMatchObject({ state: 'executed' });
});

it('is held to the policy by the name it acts on, not by the one it was sent with', async () => {
  const world = await worldOf('/', { from: '/harmless', to: '/cmd_vel' }, { from: '/cmd_vel', to: '/nowhere' });
  const policy = new Policy(readPolicy({ topics: { deny: ['/cmd_vel'] } }).rules);
  const { run } = await setUp({ world, policy });
  expect(await run({ name: '/harmless' })).toMatchObject({
    error_code: 'not_allowed',
    message: expect.stringContaining('the topic /cmd_vel'),
  });
  expect(await run({ name: '/cmd_vel' })).toMatchObject({ state: 'executed' });
});
