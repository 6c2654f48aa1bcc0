import { join } from 'node:path';
import { TestCloud } from '#test/support/cloud';
import { type Benchmark, type Row, ratioAtMost } from '../harness/benchmark.js';
import { Child } from '../harness/child.js';
import { costOf } from '../harness/process-stats.js';
import { interleaved, spreadOf } from '../harness/windows.js';
import { checkDescriptors } from './limits.js';
import { seedRobots } from './seeded-robots.js';

export const vitals: Benchmark = {
  name: 'vitals',
  summary:
    'gateway CPU of 1k, 5k and 10k robots with a vital each 5 s and a heartbeat, beside a bare ws server storing the same',
  run: async (context) => {
    const steps = context.smoke ? [10, 20] : [1_000, 5_000, 10_000];
    const windowMs = context.smoke ? 300 : 30_000;
    const most = Math.max(...steps);
    checkDescriptors(most);
    const cloud = await TestCloud.start({}, join(context.dir, 'cloud'));
    context.onEnd(() => cloud.stop());
    let tokens: string[] = [];
    await cloud.restart(() => {
      tokens = seedRobots(cloud.dataDir, most);
    });
    const bare = new Child('sessions/bare-server');
    context.onEnd(() => bare.stop());
    const bareUrl = await bare.ask<string>('open', { file: join(context.dir, 'bare.db') });
    const [ofOurs, ofBare] = [new Child('sessions/robots'), new Child('sessions/robots')];
    context.onEnd(() => Promise.all([ofOurs.stop(), ofBare.stop()]));

    const rows: Row[] = [];
    const [ourPoints, barePoints]: [[number, number][], [number, number][]] = [[], []];
    let open = 0;
    for (const step of steps) {
      const more = tokens.slice(open, step);
      open = step;
      await Promise.all([
        ofOurs.ask('open', { url: cloud.url, tokens: more }),
        ofBare.ask('open', { url: bareUrl, tokens: more }),
      ]);
      const contenders = {
        ours: () => cpuPercent(cloud.process.pid, ofOurs, windowMs),
        bare: () => cpuPercent(bare.pid, ofBare, windowMs),
      };
      // Below the last step only the curve is of interest; and that has warmed both up.
      const measured =
        step === most ? await interleaved({ ...context, smoke: true }, contenders) : await atOnce(contenders);
      ourPoints.push([step, spreadOf(measured.ours).median]);
      barePoints.push([step, spreadOf(measured.bare).median]);
      rows.push({
        ...{ what: `gateway CPU, ${step} robots with vitals and heartbeats`, unit: '% of a core', ours: measured.ours },
        peer: { name: 'bare ws server, acking and batch-inserting', values: measured.bare },
        ...(step === most && { goal: ratioAtMost(2) }),
      });
    }
    const ended = (await ofOurs.ask<number>('ended')) + (await ofBare.ask<number>('ended'));
    if (ended > 0) throw new Error(`${ended} sessions ended meanwhile`);
    return {
      rows,
      plots: [
        {
          ...{ name: 'vitals', title: 'CPU with a vital each 5 s and a heartbeat' },
          ...{ x: { label: 'robots', isLog: false }, y: { label: '% of a core' } },
          lines: [
            { name: 'gateway', points: ourPoints },
            { name: 'bare ws server', points: barePoints },
          ],
        },
      ],
      facts: { windowMs },
    };
  },
};

/** A window of both at the same time. */
async function atOnce(contenders: Record<'ours' | 'bare', () => Promise<number>>) {
  const [ours, bare] = await Promise.all([contenders.ours(), contenders.bare()]);
  return { ours: [ours], bare: [bare] };
}

/** Of the server while its robots speak; those of the other server are silent then, but for pongs. */
async function cpuPercent(pid: number, robots: Child, windowMs: number): Promise<number> {
  const { cpuS, wallS } = await costOf(pid, async () => {
    await robots.ask('speak');
    await new Promise((resolve) => setTimeout(resolve, windowMs));
    await robots.ask('rest');
  });
  return (cpuS / wallS) * 100;
}
