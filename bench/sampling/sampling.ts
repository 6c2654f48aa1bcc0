import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { graph } from '../commands/ros.js';
import {
  type Benchmark,
  type Context,
  type Goal,
  type MeasuredRow,
  type Row,
  ratioAtMost,
} from '../harness/benchmark.js';
import { Child } from '../harness/child.js';
import { busyMeter } from '../harness/process-stats.js';
import { type Cell, type CellWindow, cell, NAMES, type Name } from './cell.js';
import { Publisher } from './publisher.js';
import { type SampledTopic, TOPICS } from './topics.js';

const RATES = [1, 10];

interface Only {
  readonly name: Name;
  readonly hz: number;
}

/** Nobody else's ROS. */
const env = { ROS_DOMAIN_ID: process.env.ROS_DOMAIN_ID ?? '33', ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST' };
/**
 * `agent-1`, `poll-10`: that one alone. `each`: first all together, then one after the other alone, to see whether they disturb each
 * other (docs/performance.md).
 */
const { BENCH_SAMPLING_ALONE: alone } = process.env;
const EACH = RATES.flatMap((hz) => NAMES.map((name): Only => ({ name, hz })));
const oneAlone = EACH.find(({ name, hz }) => alone === `${name}-${hz}`);
/** In no window. */
const noneOf: Goal = { of: 'ours', is: 'at most', bound: 0, inEach: true };
/** Of the machine: above it, contenders wait for each other, and CPU says more of that than of them. */
const BUSY_AT_MOST = 0.7;

export const sampling: Benchmark = {
  name: 'sampling',
  summary: 'agent CPU of sampling four topics on real ROS 2, beside a bare poll and a plain subscription',
  run: async (context) => {
    const { smoke, say } = context;
    const { BENCH_SAMPLING: chosen, DROVER_TEST_PYTHON: python = 'python3' } = process.env;
    const topics = smoke ? TOPICS.slice(0, 1) : TOPICS.filter(({ name }) => chosen?.split(',').includes(name) ?? true);
    if (graph === 'simulated') {
      return { rows: topics.map((topic) => ({ what: whatOf(topic), notMeasured: 'no ROS 2 is sourced' })) };
    }
    const rows: Row[] = [];
    const facts: Record<string, unknown> = { distro: process.env.ROS_DISTRO, ...env };
    for (const topic of topics) {
      const { cells, busy, publishedHz } = await sampled(context, topic, python, oneAlone);
      rows.push(...cells.flatMap(rowsOf));
      for (const only of alone === 'each' ? EACH : []) {
        const { cells: byItself } = await sampled(context, topic, python, only);
        rows.push(...byItself.map((one) => besideItself(cells, one, only)));
      }
      const counted = Object.fromEntries(cells.map(({ hz, windows }) => [`${hz} Hz kept`, windows.at(-1)?.counted]));
      facts[topic.name] = { busy, publishedHz, counted };
      say(`${topic.words}: the agents counted as dropped ${JSON.stringify(counted)}`);
      say(`${topic.words}: ${publishedHz.toFixed(1)} Hz came, the machine was busy by ${Math.round(busy * 100)} %`);
      if (busy > BUSY_AT_MOST) say('that is too much: the contenders wait for each other');
    }
    return { rows, facts };
  },
};

/** All contenders at both rates at the same time, before the same publisher: whatever disturbs one meets them all. */
async function sampled(context: Context, topic: SampledTopic, python: string, only?: Only) {
  const seconds = Number(process.env.BENCH_SAMPLING_SECONDS ?? 60);
  const [windowMs, warmUpMs] = context.smoke ? [2_000, 1_000] : [seconds * 1_000, 10_000];
  const name = `/sampled_${topic.name.toLowerCase()}`;
  const ends: (() => unknown)[] = [];
  try {
    const publisher = await Publisher.start(topic, { topic: name, python, env });
    ends.push(() => publisher.stop());
    const sink = new Child('sampling/sink');
    ends.push(() => sink.stop());
    const url = await sink.ask<string>('open');
    const cells: Cell[] = [];
    for (const hz of RATES) {
      if (only !== undefined && only.hz !== hz) continue;
      const dir = join(context.dir, topic.name, only ? `${only.name} alone` : 'all');
      const started = await cell({ topic, source: name, hz, sink, url, dir, env, only: only?.name });
      ends.push(() => started.stop());
      cells.push(started);
    }
    await setTimeout(warmUpMs);
    const shares: number[] = [];
    let published = await publisher.published();
    const begin = { published, atMs: performance.now() };
    for (let window = 0; window < context.windows; window += 1) {
      const busy = busyMeter();
      for (const one of cells) one.begin();
      await setTimeout(windowMs);
      const now = await publisher.published();
      for (const one of cells) one.end(now - published);
      published = now;
      shares.push(busy());
    }
    const publishedHz = ((published - begin.published) * 1000) / (performance.now() - begin.atMs);
    // What was kept last is on its way.
    await setTimeout(Math.min(3_000, windowMs));
    const told = await Promise.all(cells.map(async (one) => ({ one, windows: await one.windows() })));
    return {
      publishedHz,
      busy: Math.max(...shares),
      cells: told.map(({ one, windows }) => ({ topic, hz: one.hz, windows })),
    };
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

const whatOf = ({ words }: SampledTopic, hz?: number) =>
  `agent CPU of sampling, ${words}${hz === undefined ? '' : `, ${hz} Hz kept`}`;

interface Told {
  readonly topic: SampledTopic;
  readonly hz: number;
  readonly windows: readonly CellWindow[];
}

/** What a contender takes together with the others, beside what it takes alone, in windows of another time. */
function besideItself(together: readonly Told[], { topic, hz, windows }: Told, { name }: Only): MeasuredRow {
  const of = (told: readonly CellWindow[]) => told.map(({ cpu }) => cpu[name]);
  return {
    ...{ what: `CPU of ${name} among the others, ${topic.words}, ${hz} Hz kept`, unit: '% of a core' },
    ours: of(together.find((one) => one.hz === hz)?.windows ?? []),
    peer: { name: 'itself alone', values: of(windows) },
  };
}

function rowsOf({ topic, hz, windows }: Told): Row[] {
  const of = (name: 'agent' | 'poll' | 'plain') => windows.map(({ cpu }) => cpu[name]);
  const ours = { what: whatOf(topic, hz), unit: '% of a core', ours: of('agent') };
  const missing = (name: 'agent' | 'poll') => windows.map((window) => window.missing[name]);
  const plain: MeasuredRow = { ...ours, peer: { name: 'a plain rclnodejs subscription', values: of('plain') } };
  return [
    { ...ours, peer: { name: 'a bare poll', values: of('poll') }, goal: ratioAtMost(1.15, { orMore: 1 }) },
    topic.ofPlainAtMost === null ? plain : { ...plain, goal: ratioAtMost(topic.ofPlainAtMost) },
    {
      ...{ what: `kept samples missing, ${topic.words}, ${hz} Hz kept`, unit: 'samples', ours: missing('agent') },
      ...{ peer: { name: 'a bare poll', values: missing('poll') }, goal: noneOf },
    },
  ];
}
