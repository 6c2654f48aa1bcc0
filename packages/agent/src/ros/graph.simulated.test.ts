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
    // There is no other: a simulated graph lives in one process. (A goal is found again by its id alone all the same.)
    another: async () => graph,
    close: async () => {
      await peer.stop();
      await graph.stop();
    },
  };
});
