import { expect, it, onTestFinished } from 'vitest';
import { openGraph } from './open-graph.js';
import { UNGUARDED } from './ros/guard.js';
import { silent } from './spool/fixture.js';

it('opens a graph that goes by the namespace and the remaps of the settings', async () => {
  const settings = { rosNamespace: '/r1', rosRemap: [{ from: 'odom', to: '/wheel/odom' }] };
  const graph = await openGraph({ ros: 'simulated', ...settings }, UNGUARDED, silent);
  onTestFinished(() => graph.stop());
  await graph.start();
  expect(graph.names.resolve('/r1/odom')).toBe('/wheel/odom');
  expect((await graph.survey()).nodes).toContain('/r1/drover_agent');
});
