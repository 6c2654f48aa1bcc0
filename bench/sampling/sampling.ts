import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { graph } from '../commands/ros.js';
import { type Benchmark, ratioAtMost } from '../harness/benchmark.js';

const run = promisify(execFile);
const program = fileURLToPath(new URL('../../sampling.mjs', import.meta.url));
const WHAT = 'CPU that a stream adds to the agent, String 1 kHz, 1 Hz kept';

export const sampling: Benchmark = {
  name: 'sampling',
  summary: 'agent CPU of sampling a fast topic on real ROS 2, beside a bare poll and a plain subscription',
  run: async ({ smoke, windows }) => {
    // The program makes itself a ROS 2 where none is sourced, which takes minutes the first time.
    if (smoke && graph === 'simulated') return { rows: [{ what: WHAT, notMeasured: 'no ROS 2 is sourced' }] };
    const [seconds, settle] = smoke ? ['1', '0.5'] : ['60', '4'];
    const [added, polled, plain]: [number[], number[], number[]] = [[], [], []];
    let distro = '';
    for (let window = 0; window < windows; window += 1) {
      const { stdout } = await run(process.execPath, [program, '--json', '--seconds', seconds, '--settle', settle]);
      const told = JSON.parse(stdout) as { distro: string; rows: Record<string, number> };
      const of = (name: string) => told.rows[name] ?? Number.NaN;
      distro = told.distro;
      added.push(of('agent, streaming at 1 Hz') - of('agent, no stream'));
      polled.push(of('bare, polled at 1 Hz, depth 1') - of('bare, nothing subscribed'));
      plain.push(of('spun, deserialised') - of('bare, nothing subscribed'));
    }
    const unit = '% of a core';
    return {
      rows: [
        {
          ...{ what: WHAT, unit, ours: added, goal: ratioAtMost(1.15), note: 'or 1 point of a core more' },
          peer: { name: 'what a bare poll adds', values: polled },
        },
        {
          ...{ what: WHAT, unit, ours: added, goal: ratioAtMost(0.6) },
          peer: { name: 'what a plain rclnodejs subscription adds', values: plain },
        },
      ],
      facts: { distro, seconds: Number(seconds) },
    };
  },
};
