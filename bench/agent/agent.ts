import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TestAgent } from '#test/support/agent';
import { graph } from '../commands/ros.js';
import { type Benchmark, type Context, type Row, ratioAtMost } from '../harness/benchmark.js';
import { Child } from '../harness/child.js';
import { agentOf, rssBytes } from '../harness/process-stats.js';
import { interleaved, quantile } from '../harness/windows.js';
import { BareGateway, type Content } from './gateway.js';
import { callsAtOnce } from './many-calls.js';
import { ROS_ENV, SERVICE, SERVICE_TYPE, TOPIC_TYPE, topicOf, type WaveOptions } from './names.js';

const TOPICS = 8;
/** Of the form that an agent takes; its gateway asks for none. */
const TOKEN = `drt_${'0'.repeat(40)}`;
const hook = fileURLToPath(new URL('../../agent/mark-hook.mjs', import.meta.url));
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const GOAL = ratioAtMost(1.3);
/**
 * Of a window's messages. A subscriber that gets no CPU for a moment lets its queue run over: on a busy machine it hears a per cent less.
 * Where it hears fewer than this, whoever publishes is to blame.
 */
const LOST_AT_MOST = 0.03;

export const agent: Benchmark = {
  name: 'agent',
  summary: "the agent's part of a command on real ROS 2, beside bare rclnodejs; 1,000 calls at once; idle memory",
  run: async (context) => {
    if (graph === 'simulated') return { rows: UNMEASURED };
    const peer = new Child('agent/bare-ros', ROS_ENV);
    context.onEnd(() => peer.stop());
    await peer.ask('hear', { topics: TOPICS });
    const rows = [
      ...(await partOfCommands(context, peer)),
      await callsAtOnce(context, peer),
      await idleMemory(context),
    ];
    return { rows, facts: { distro: process.env.ROS_DISTRO ?? null } };
  },
};

const WHAT = {
  published: 'command taken → published, p50',
  served: 'command taken → served, p50',
  idle: 'agent RSS, idle on real ROS 2',
};
const PACED = 'paced on purpose, five in any 14 ms, so that a subscriber’s queue of ten loses none: no goal';
const UNMEASURED: Row[] = [WHAT.published, WHAT.served, '1,000 calls at once', WHAT.idle].map((what) => ({
  what,
  notMeasured: 'no ROS 2 is sourced',
}));

async function partOfCommands(context: Context, peer: Child): Promise<Row[]> {
  const bare = new Child('agent/bare-ros', ROS_ENV);
  context.onEnd(() => bare.stop());
  await bare.ask('act', { topics: TOPICS });
  const ours = await MarkedAgent.start(context);

  const waves = context.smoke ? 5 : 150;
  const rows: Row[] = [];
  for (const [inFlight, topics] of [
    [1, 1],
    [TOPICS, TOPICS],
    [TOPICS, 1],
  ] as const) {
    const wave = { waves, inFlight, pauseMs: 20, topics };
    const lostOf = { ours: 0, bare: 0 };
    const took = async (who: keyof typeof lostOf, sent: () => Promise<[n: number, atMs: number][]>) => {
      await peer.ask('received');
      const sentAtMs = new Map(await sent());
      await pause(200);
      const heard = await peer.ask<[n: number, atMs: number][]>('received');
      const lost = waves * inFlight - heard.length;
      if (lost > waves * inFlight * LOST_AT_MOST) {
        throw new Error(`of ${waves * inFlight} messages ${heard.length} were heard`);
      }
      lostOf[who] += lost;
      return quantile(
        heard.map(([n, atMs]) => atMs - (sentAtMs.get(n) ?? Number.NaN)),
        0.5,
      );
    };
    const windows = await interleaved(context, {
      ours: () => took('ours', () => ours.publish(wave)),
      bare: () => took('bare', () => bare.ask('publish', wave)),
    });
    const to =
      inFlight === 1 ? 'one in flight' : `${inFlight} in flight to ${topics === 1 ? 'one topic' : `${topics} topics`}`;
    const row = {
      ...{ what: `${WHAT.published}, ${to}`, unit: 'ms', ours: windows.ours },
      peer: { name: 'bare rclnodejs publish', values: windows.bare },
    };
    const isPaced = inFlight > topics;
    const notes = [...(isPaced ? [PACED] : []), ...lostNote(lostOf)];
    rows.push({ ...row, ...(!isPaced && { goal: GOAL }), ...(notes.length > 0 && { note: notes.join('; ') }) });
  }
  for (const inFlight of [1, 8]) {
    const wave = { waves, inFlight, pauseMs: 5 };
    const windows = await interleaved(context, {
      ours: async () => quantile(await ours.call(wave), 0.5),
      bare: async () => quantile(await bare.ask('call', wave), 0.5),
    });
    rows.push({
      ...{
        what: `${WHAT.served}, ${inFlight === 1 ? 'one' : inFlight} in flight`,
        unit: 'ms',
        ours: windows.ours,
        goal: GOAL,
      },
      peer: { name: 'bare rclnodejs call', values: windows.bare },
    });
  }
  return rows;
}

/** Nothing where all were heard; the warm-up's count too. */
function lostNote({ ours, bare }: { ours: number; bare: number }): string[] {
  if (ours + bare === 0) return [];
  return [`the median of those heard: the subscriber missed ${ours} of ours, ${bare} of the script’s`];
}

/** An agent that tells when it had a command on disk and when it knew its end, and a gateway that costs next to nothing. */
class MarkedAgent {
  readonly #gateway: BareGateway;
  readonly #marks: string;

  private constructor(gateway: BareGateway, marks: string) {
    this.#gateway = gateway;
    this.#marks = marks;
  }

  static async start(context: Context): Promise<MarkedAgent> {
    const gateway = new BareGateway();
    const url = await gateway.open();
    context.onEnd(() => gateway.close());
    const marks = join(context.dir, 'marks');
    const running = await TestAgent.start({
      ...{ url, token: TOKEN, dataDir: join(context.dir, 'marked-agent') },
      env: {
        ...ROS_ENV,
        DROVER_ROS: 'rclnodejs',
        NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${hook}`,
        BENCH_MARKS_FILE: marks,
      },
    });
    context.onEnd(() => running.stop());
    await connected(gateway, running);
    const agent = new MarkedAgent(gateway, marks);
    // What only the first message and the first call wait for.
    for (let n = 0; n < TOPICS; n += 1) await agent.publish({ waves: 1, inFlight: n + 1, pauseMs: 20, topics: TOPICS });
    await agent.call({ waves: 2, inFlight: 8, pauseMs: 20 });
    return agent;
  }

  /** When each message's command was on disk. */
  async publish({ topics, ...options }: WaveOptions & { topics: number }): Promise<[n: number, atMs: number][]> {
    const uuids = await this.#waves(options, (number, n) => ({
      ...{ interface: 'topic', name: topicOf(n % topics), type: TOPIC_TYPE },
      payload: { linear: { x: number, y: 0, z: 0 }, angular: { x: 0, y: 0, z: 0 } },
    }));
    const { taken } = await this.#readMarks();
    return uuids.map((uuid, number) => [number, taken.get(uuid) ?? Number.NaN]);
  }

  /** From there until its response was read. */
  async call(options: WaveOptions): Promise<number[]> {
    const uuids = await this.#waves(options, (number) => ({
      ...{ interface: 'service', name: SERVICE, type: SERVICE_TYPE, payload: { load_namespace: String(number) } },
    }));
    const { taken, ended } = await this.#readMarks();
    return uuids.map((uuid) => (ended.get(uuid) ?? Number.NaN) - (taken.get(uuid) ?? Number.NaN));
  }

  /** The commands' uuids by their numbers. */
  async #waves({ waves, inFlight, pauseMs }: WaveOptions, content: (number: number, n: number) => Content) {
    const uuids: string[] = [];
    for (let wave = 0; wave < waves; wave += 1) {
      const all = Array.from({ length: inFlight }, (_, n) => this.#gateway.run(content(wave * inFlight + n, n)));
      uuids.push(...(await Promise.all(all)));
      await pause(pauseMs);
    }
    return uuids;
  }

  async #readMarks(): Promise<Record<'taken' | 'ended', Map<string, number>>> {
    // They are written now and then.
    await pause(500);
    const found = { taken: new Map<string, number>(), ended: new Map<string, number>() };
    for (const line of readFileSync(this.#marks, 'utf8').split('\n')) {
      const [what = '', uuid = '', ns = ''] = line.split(' ');
      if (what === 'taken' || what === 'ended') found[what].set(uuid, Number(BigInt(ns)) / 1e6);
    }
    return found;
  }
}

/** @throws Error where the agent ends before. */
async function connected(gateway: BareGateway, { process }: TestAgent): Promise<void> {
  const ended = process.exited.then(() => {
    throw new Error(`the agent ended:\n${process.text()}`);
  });
  await Promise.race([gateway.connected, ended]);
}

/** As users start it, under its supervisor; the other in a process of its own. Both are left alone for the same time. */
async function idleMemory(context: Context): Promise<Row> {
  const settleMs = context.smoke ? 500 : 20_000;
  // New processes each time: nothing to warm up.
  const windows = await interleaved<'ours' | 'bare', number>(
    { ...context, smoke: true },
    {
      ours: async () => {
        const gateway = new BareGateway();
        const url = await gateway.open();
        const agent = await TestAgent.start({
          ...{ url, token: TOKEN, supervised: true },
          env: { ...ROS_ENV, DROVER_ROS: 'rclnodejs' },
        });
        await connected(gateway, agent);
        await pause(settleMs);
        const bytes = rssBytes(agentOf(agent.process.pid));
        await agent.stop();
        gateway.close();
        return bytes / 2 ** 20;
      },
      bare: async () => {
        const bare = new Child('agent/bare-ros', ROS_ENV);
        await bare.ask('idle');
        await pause(settleMs);
        const bytes = rssBytes(bare.pid);
        await bare.stop();
        return bytes / 2 ** 20;
      },
    },
  );
  return {
    ...{ what: WHAT.idle, unit: 'MiB', ours: windows.ours, goal: ratioAtMost(1.4) },
    peer: { name: 'a bare node with one subscription', values: windows.bare },
  };
}
