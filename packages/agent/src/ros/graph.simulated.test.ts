import { describeGraphContract } from './graph.contract.js';
import { createSimulatedGraph } from './simulated/graph.js';
import { simulatedPeer } from './simulated/peer.fixture.js';

describeGraphContract('simulated', async () => {
  const graph = createSimulatedGraph({ onFault: () => {} });
  await graph.start();
  const peer = simulatedPeer(graph);
  return {
    graph,
    peer,
    close: async () => {
      await peer.stop();
      await graph.stop();
    },
  };
});
