import type { DesiredStream } from '@drover/shared/link/desired';
import { decodeCdr } from '@drover/shared/ros/cdr';
import { onTestFinished } from 'vitest';
import { type NameResolver, ROOT_NAMES } from '../ros/name-resolution.js';
import { createSimulatedGraph } from '../ros/simulated/graph.js';
import { simulatedPeer } from '../ros/simulated/peer.fixture.js';
import { silent } from '../spool/fixture.js';
import type { PointSample, Sample } from '../spool/rows.js';
import type { CollectorDeps } from './collector.js';

export function stream(overrides: Partial<DesiredStream> = {}): DesiredStream {
  const base = { source: '/counter', type: 'std_msgs/msg/Int64', hz: 100, enabled: true, max_message_bytes: 2 ** 23 };
  return { ...base, ...overrides };
}

/** A simulated graph with a peer on it, and a spool that only remembers. */
export async function setUpCollecting(names: NameResolver = ROOT_NAMES) {
  const graph = createSimulatedGraph({ names, onFault: () => {} });
  await graph.start();
  const peer = simulatedPeer(graph);
  const samples: Sample[] = [];
  const drops: { source: string; reason: string; rows: number; bytes: number }[] = [];
  let wake = () => {};
  const sink = {
    append: (sample: Sample) => {
      samples.push(sample);
      wake();
    },
    countDrop: (source: string, reason: string, rows: number, bytes: number) => {
      drops.push({ source, reason, rows, bytes });
      wake();
    },
  };
  const deps: CollectorDeps = {
    graph,
    sink,
    monotonicNow: () => performance.now(),
    wallNow: () => performance.timeOrigin + performance.now(),
    log: silent,
  };
  onTestFinished(() => graph.stop());
  const points = (source: string) =>
    samples.filter((sample): sample is PointSample => sample.kind === 'point' && sample.source === source);
  return {
    graph,
    peer,
    deps,
    samples,
    drops,
    points,
    until: async (condition: () => boolean) => {
      while (!condition()) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    /** The decoded messages of a source. */
    messages: async (source: string) => {
      const [first] = points(source);
      const definition = first && (await graph.describe(first.type));
      if (definition?.kind !== 'msg') return [];
      return points(source).map((point) => decodeCdr(definition.message, point.cdr));
    },
  };
}
