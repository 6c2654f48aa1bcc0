import { join } from 'node:path';
import { TestAgent } from '#test/support/agent';
import { API_KEY, TestCloud } from '#test/support/cloud';
import { type Benchmark, type Context, type Row, ratioAtLeast, ratioAtMost } from '../harness/benchmark.js';
import { Child } from '../harness/child.js';
import { interleaved } from '../harness/windows.js';
import type { Latencies } from './load.js';
import { graph, TOPIC, TOPICS } from './ros.js';

const IN_FLIGHT = 32;
/** Above the tests' own. */
const DOMAIN = '87';
const PACED = 'paced on purpose, five in any 14 ms, so that a subscriber’s queue of ten loses none: no goal';

export const commands: Benchmark = {
  name: 'commands',
  summary: 'POST → effect → outcome readable, beside a bare express + ws script with the same durable writes',
  run: async (context) => {
    const ms = context.smoke ? 300 : 10_000;
    const ros: Record<string, string> =
      graph === 'simulated' ? {} : { ROS_DOMAIN_ID: DOMAIN, ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST' };
    if (graph !== 'simulated') {
      const subscriber = new Child('commands/ros-subscriber', ros);
      context.onEnd(() => subscriber.stop());
      await subscriber.ask('open');
    }
    const ours = await product(context, ros);
    const bare = await script(context, ros, true);
    const bareWithoutWrites = await script(context, ros, false);

    const alone = await interleaved<'ours' | 'bare' | 'without', Latencies>(context, {
      ours: () => ours.alone(ms),
      bare: () => bare.alone(ms),
      without: () => bareWithoutWrites.alone(ms),
    });
    // The simulated graph has no pace, and its robot one topic.
    const spread = graph === 'simulated' ? [TOPIC] : TOPICS;
    const together = await interleaved(context, {
      ours: () => ours.together(IN_FLIGHT, ms, spread),
      bare: () => bare.together(IN_FLIGHT, ms, spread),
      without: () => bareWithoutWrites.together(IN_FLIGHT, ms, spread),
    });
    const p50 = (of: Latencies[]) => of.map(({ p50Ms }) => p50Ms);
    const p99 = (of: Latencies[]) => of.map(({ p99Ms }) => p99Ms);
    const same = 'bare express + ws, the same writes';
    const without = 'the same, nothing written on the robot';
    const what = `command round trip, ${graph} graph`;
    const inFlight = `${what}, ${IN_FLIGHT} in flight`;
    const toTopics = spread.length > 1 ? `${inFlight} to ${spread.length} topics` : inFlight;
    const rows: Row[] = [
      {
        ...{ what: `${what}, p50`, unit: 'ms', ours: p50(alone.ours), goal: ratioAtMost(1.3) },
        peer: { name: same, values: p50(alone.bare) },
      },
      {
        ...{ what: `${what}, p99`, unit: 'ms', ours: p99(alone.ours), goal: ratioAtMost(2) },
        peer: { name: same, values: p99(alone.bare) },
      },
      {
        ...{
          what: toTopics,
          unit: 'commands/s',
          ours: together.ours,
          goal: ratioAtLeast(0.6),
        },
        peer: { name: same, values: together.bare },
      },
      { what: `${what}, p50`, unit: 'ms', ours: p50(alone.ours), peer: { name: without, values: p50(alone.without) } },
      { what: `${what}, p99`, unit: 'ms', ours: p99(alone.ours), peer: { name: without, values: p99(alone.without) } },
      {
        ...{ what: toTopics, unit: 'commands/s', ours: together.ours },
        peer: { name: without, values: together.without },
      },
    ];
    if (spread.length > 1) {
      const paced = await interleaved(context, {
        ours: () => ours.together(IN_FLIGHT, ms, [TOPIC]),
        bare: () => bare.together(IN_FLIGHT, ms, [TOPIC]),
      });
      rows.push({
        ...{ what: `${inFlight} to one topic`, unit: 'commands/s', ours: paced.ours, note: PACED },
        peer: { name: same, values: paced.bare },
      });
    }
    return { rows, facts: { graph, distro: process.env.ROS_DISTRO ?? null } };
  },
};

/** Who POSTs and asks, for one of the contenders. */
interface Caller {
  alone(ms: number): Promise<Latencies>;
  together(inFlight: number, ms: number, topics: readonly string[]): Promise<number>;
}

async function product(context: Context, ros: Record<string, string>): Promise<Caller> {
  const cloud = await TestCloud.start({}, join(context.dir, 'cloud'));
  context.onEnd(() => cloud.stop());
  const agent = await TestAgent.start({
    url: cloud.url,
    token: await cloud.register('robot'),
    env: { DROVER_ROS: graph, ...ros },
    dataDir: join(context.dir, 'agent'),
  });
  context.onEnd(() => agent.stop());
  await cloud.online('robot');
  return await loadOn(context, cloud.url, { 'svc-api-key': API_KEY });
}

async function script(context: Context, ros: Record<string, string>, writes: boolean): Promise<Caller> {
  const name = writes ? 'bare' : 'bare-without';
  const gateway = new Child('commands/bare-gateway');
  context.onEnd(() => gateway.stop());
  const url = await gateway.ask<string>('open', { file: join(context.dir, `${name}-gateway.db`) });
  const robot = new Child('commands/bare-robot', ros);
  context.onEnd(() => robot.stop());
  await robot.ask('open', { url, writes, file: join(context.dir, `${name}-robot.db`) });
  return await loadOn(context, url);
}

async function loadOn(context: Context, url: string, headers: Record<string, string> = {}): Promise<Caller> {
  const caller = new Child('commands/caller');
  context.onEnd(() => caller.stop());
  await caller.ask('open', { url, robot: 'robot', headers });
  return {
    alone: (ms) => caller.ask('alone', { ms }),
    together: (inFlight, ms, topics) => caller.ask('together', { inFlight, ms, topics }),
  };
}
