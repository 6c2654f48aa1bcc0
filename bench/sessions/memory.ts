import { join } from 'node:path';
import { COLLECTION_MS, COLLECTS_AT_SIGUSR2 } from '#test/soak/measure';
import { TestCloud } from '#test/support/cloud';
import { type Benchmark, type Row, ratioAtMost } from '../harness/benchmark.js';
import { Child } from '../harness/child.js';
import { rssBytes } from '../harness/process-stats.js';
import { interleaved, spreadOf } from '../harness/windows.js';
import { checkDescriptors } from './limits.js';
import { seedRobots } from './seeded-robots.js';

/** A session of many costs no more than this many times one of few. What a process is built up by with its first thousand makes it less. */
const FLAT = 1.2;

export const memory: Benchmark = {
  name: 'memory',
  summary: 'gateway memory of an idle session at 1k, 5k and 10k robots, beside a bare ws server',
  run: async (context) => {
    const steps = context.smoke ? [10, 20] : [1_000, 5_000, 10_000];
    const most = Math.max(...steps);
    const settleMs = context.smoke ? 50 : 2_000;
    checkDescriptors(most);
    const cloud = await TestCloud.start(COLLECTS_AT_SIGUSR2, join(context.dir, 'cloud'));
    context.onEnd(() => cloud.stop());
    await cloud.process.stop();
    const tokens = seedRobots(cloud.dataDir, most);
    let bareRuns = 0;
    // New processes each time: none of them is warm, nor should be.
    const windows = await interleaved(
      { windows: context.windows, smoke: true },
      {
        ours: async () => {
          await cloud.restart();
          const { url, process } = cloud;
          return await perSession(steps, tokens, {
            url,
            settleMs,
            pid: process.pid,
            collect: () => process.signal('SIGUSR2'),
          });
        },
        bare: async () => {
          const bare = new Child('sessions/bare-server', COLLECTS_AT_SIGUSR2);
          try {
            bareRuns += 1;
            const url = await bare.ask<string>('open', { file: join(context.dir, `bare-${bareRuns}.db`) });
            return await perSession(steps, tokens, {
              url,
              settleMs,
              pid: bare.pid,
              collect: () => bare.signal('SIGUSR2'),
            });
          } finally {
            await bare.stop();
          }
        },
      },
    );
    const rows: Row[] = steps.map((step, at) => ({
      ...{ what: `gateway memory of an idle session, ${step} robots`, unit: 'KiB' },
      ours: windows.ours.map((kib) => kib[at] ?? Number.NaN),
      peer: { name: 'bare ws server', values: windows.bare.map((kib) => kib[at] ?? Number.NaN) },
      goal: ratioAtMost(2),
    }));
    const [fewest = 0] = steps;
    // Those of the last step beside those of the first, of the same process.
    rows.push({
      ...{ what: `gateway memory of an idle session, ${most} robots beside ${fewest}`, unit: 'KiB' },
      ours: windows.ours.map((kib) => kib.at(-1) ?? Number.NaN),
      peer: { name: `the same, ${fewest} robots`, values: windows.ours.map(([kib = Number.NaN]) => kib) },
      goal: ratioAtMost(FLAT),
    });
    const line = (name: string, of: number[][]) => {
      const points = steps.map((step, at) => [step, spreadOf(of.map((kib) => kib[at] ?? Number.NaN)).median] as const);
      return { name, points };
    };
    return {
      rows,
      plots: [
        {
          ...{ name: 'memory', title: 'Memory of an idle session (RSS)' },
          ...{ x: { label: 'sessions', isLog: false }, y: { label: 'KiB a session' } },
          lines: [line('gateway', windows.ours), line('bare ws server', windows.bare)],
        },
      ],
      facts: { steps, collected: 'garbage, right before each reading' },
    };
  },
};

const WARM_UP_SESSIONS = 100;

interface Server {
  readonly url: string;
  readonly pid: number;
  /** What sessions' last writes take to be over. */
  readonly settleMs: number;
  collect(): void;
}

/** KiB of resident memory that each session adds to the server, at each step. */
async function perSession(steps: readonly number[], tokens: readonly string[], server: Server): Promise<number[]> {
  const settled = async () => {
    await new Promise((resolve) => setTimeout(resolve, server.settleMs));
    server.collect();
    await new Promise((resolve) => setTimeout(resolve, COLLECTION_MS));
    return rssBytes(server.pid);
  };
  // What the first sessions of a process leave behind (compiled code, prepared statements) is not theirs.
  const first = new Child('sessions/robots');
  await first.ask('open', { url: server.url, tokens: tokens.slice(0, Math.min(WARM_UP_SESSIONS, steps[0] ?? 0)) });
  await first.stop();
  const robots = new Child('sessions/robots');
  try {
    const empty = await settled();
    const figures: number[] = [];
    let open = 0;
    for (const step of steps) {
      await robots.ask('open', { url: server.url, tokens: tokens.slice(open, step) });
      open = step;
      figures.push(((await settled()) - empty) / 1024 / step);
      const ended = await robots.ask<number>('ended');
      if (ended > 0) throw new Error(`${ended} of ${step} sessions ended`);
    }
    return figures;
  } finally {
    await robots.stop();
  }
}
