import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { TestAgent } from '#test/support/agent';
import type { Child as Sink } from '../harness/child.js';
import { Child } from '../harness/child.js';
import { agentOf, cpuSeconds } from '../harness/process-stats.js';
import type { BareOptions } from './bare.js';
import type { SampledTopic } from './topics.js';

export type Name = 'agent' | 'poll' | 'plain';
export const NAMES: readonly Name[] = ['agent', 'poll', 'plain'];

/** Of one window, each contender's. */
export interface CellWindow {
  /** Percent of a core, the whole process. */
  readonly cpu: Readonly<Record<Name, number>>;
  readonly missing: Readonly<Record<Name, number>>;
  /** What the agent's stream says that it dropped, from its start to the end of the last window. */
  readonly counted: number;
}

/** A topic at a rate: the three contenders, each a process of its own. */
export interface Cell {
  readonly hz: number;
  begin(): void;
  /** @param published messages within the window */
  end(published: number): void;
  /** @throws Error where a contender keeps nothing */
  windows(): Promise<CellWindow[]>;
  stop(): Promise<void>;
}

export interface CellOptions {
  readonly topic: SampledTopic;
  readonly source: string;
  readonly hz: number;
  readonly sink: Sink;
  readonly url: string;
  readonly dir: string;
  /** Where ROS is. */
  readonly env: Record<string, string>;
  readonly only?: Name | undefined;
}

interface Contender {
  readonly name: Name;
  readonly pid: number;
  readonly stop: () => Promise<unknown>;
}

interface Reading {
  readonly atMs: number;
  readonly wallMs: number;
  readonly cpuS: readonly number[];
}

export async function cell(options: CellOptions): Promise<Cell> {
  const { topic, source, hz, sink, only } = options;
  const contenders: Contender[] = [];
  for (const name of NAMES) {
    if (only !== undefined && name !== only) continue;
    await sink.ask('expect', { name: `${name}-${hz}`, stream: { source, type: topic.type, hz } });
    contenders.push(await (name === 'agent' ? startAgent(options) : startBare(name, options)));
  }
  const read = (): Reading => ({
    atMs: performance.now(),
    wallMs: Date.now(),
    cpuS: contenders.map(({ pid }) => cpuSeconds(pid)),
  });
  const kept: { begin: Reading; end: Reading; expected: number }[] = [];
  let begin = read();
  return {
    hz,
    begin: () => {
      begin = read();
    },
    end: (published) => {
      const end = read();
      kept.push({ begin, end, expected: Math.min(published, ((end.atMs - begin.atMs) / 1000) * hz) });
    },
    windows: async () => {
      const all: CellWindow[] = [];
      for (const { begin: from, end, expected } of kept) {
        const nothing = { agent: Number.NaN, poll: Number.NaN, plain: Number.NaN };
        const [cpu, missing]: [Record<Name, number>, Record<Name, number>] = [{ ...nothing }, { ...nothing }];
        let counted = 0;
        for (const [at, { name }] of contenders.entries()) {
          const cpuS = (end.cpuS[at] ?? Number.NaN) - (from.cpuS[at] ?? Number.NaN);
          cpu[name] = (cpuS * 100_000) / (end.atMs - from.atMs);
          const of = { name: `${name}-${hz}`, fromMs: from.wallMs, toMs: end.wallMs };
          const { samples, drops } = await sink.ask<{ samples: number; drops: number }>('kept', of);
          // The window begins and ends somewhere within a period: one more or less is none missing.
          // What was dropped and counted is among them.
          missing[name] = Math.max(0, Math.floor(expected) - 1 - samples);
          counted += drops;
        }
        all.push({ cpu, missing, counted });
      }
      return all;
    },
    stop: async () => {
      await Promise.all(contenders.map(({ stop }) => stop()));
    },
  };
}

/** As users start it: its supervisor bounds what memory it keeps, which large messages may cost CPU. */
async function startAgent({ hz, url, dir, env }: CellOptions): Promise<Contender> {
  const agent = await TestAgent.start({
    url,
    token: `drt_sampled-agent-${hz}`,
    env: { ...env, DROVER_ROS: 'rclnodejs' },
    supervised: true,
    dataDir: join(dir, `agent-${hz}`),
  });
  await agent.process.line(({ msg }) => msg === 'stream starts');
  return { name: 'agent', pid: agentOf(agent.process.pid), stop: () => agent.stop() };
}

async function startBare(how: 'poll' | 'plain', { hz, url, dir, topic, source, env }: CellOptions): Promise<Contender> {
  const name = `${how}-${hz}`;
  mkdirSync(dir, { recursive: true });
  const script = new Child('sampling/bare', env);
  const file = join(dir, `${name}.db`);
  const { type, pollDepth: depth } = topic;
  await script.ask('open', { how, name, topic: source, type, hz, depth, file, sink: url } satisfies BareOptions);
  return { name: how, pid: script.pid, stop: () => script.stop() };
}
