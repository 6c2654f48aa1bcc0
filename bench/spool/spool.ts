import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestAgent } from '#test/support/agent';
import { TestCloud } from '#test/support/cloud';
import { storedLoad } from '#test/support/stored';
import { atLeast, atMost, type Benchmark, type Context, type Row, ratioAtMost } from '../harness/benchmark.js';
import { onPath } from '../harness/on-path.js';
import { diskBytesWritten } from '../harness/process-stats.js';
import { interleaved } from '../harness/windows.js';
import { type Flush, flushesIn } from './flushes.js';

const HZ = 100;
/** What comes in 200 ms is recorded at once, so that a window's edges may cut off as much. */
const HZ_LEAST = 98;
const SOURCE = '/load';
/** CDR of a String: its head, a length, the text and a zero. */
const TEXT_BYTES = 141;
const POINT_BYTES = TEXT_BYTES + 9;
const COMMAND = { interface: 'service', name: '/reset_odometry', type: 'std_srvs/srv/Trigger', payload: {} };

export const spool: Benchmark = {
  name: 'spool',
  summary: `what an agent writes and flushes at ${HZ} points a second, and for a command`,
  run: async (context) => {
    const windowMs = context.smoke ? 1_000 : 30_000;
    const commands = context.smoke ? 3 : 200;
    const traced = onPath('strace') ? join(context.dir, 'flushes') : null;
    const cloud = await TestCloud.start({}, join(context.dir, 'cloud'));
    context.onEnd(() => cloud.stop());
    const agent = await sampling(context, cloud, traced);
    const flushes = () => (traced === null ? [] : flushesIn(readFileSync(traced, 'latin1'), agent.dataDir));
    const recorded = async () =>
      (await cloud.get<{ num_recordings: number }[]>('/robots/robot/streams'))[0]?.num_recordings ?? 0;

    const windows = await interleaved(context, {
      points: async () => {
        const before = {
          bytes: diskBytesWritten(agent.process.pid),
          flushes: flushes().length,
          points: await recorded(),
        };
        const startMs = performance.now();
        await new Promise((resolve) => setTimeout(resolve, windowMs));
        const seconds = (performance.now() - startMs) / 1000;
        const points = (await recorded()) - before.points;
        return {
          bytesAPoint: (diskBytesWritten(agent.process.pid) - before.bytes) / points,
          flushesAS: (flushes().length - before.flushes) / seconds,
          pointsAS: points / seconds,
        };
      },
      // Which lines of the trace are theirs; told apart once all are there, for a checkpoint shows by what follows.
      commands: async () => {
        const [from, startMs] = [flushes().length, performance.now()];
        for (let n = 0; n < commands; n += 1) {
          const { state } = await cloud.run('robot', COMMAND);
          if (state !== 'executed') throw new Error(`a command ended as ${state}`);
        }
        return { from, to: flushes().length, seconds: (performance.now() - startMs) / 1000 };
      },
    } as Record<'points' | 'commands', () => Promise<Figures>>);
    const rows: Row[] = [
      {
        ...{ what: `bytes an agent writes to disk for a point, ${HZ} a second`, unit: 'bytes' },
        ours: windows.points.map(({ bytesAPoint = Number.NaN }) => bytesAPoint),
        ...{ peer: { name: 'the point', values: windows.points.map(() => POINT_BYTES) }, goal: ratioAtMost(8) },
      },
      {
        what: 'points a second, of which that is',
        unit: '1/s',
        ours: windows.points.map(({ pointsAS = 0 }) => pointsAS),
        // With fewer the rows beside it are about something else.
        goal: { ...atLeast(HZ_LEAST), inEach: true },
      },
      {
        ...{ what: 'points published and not recorded, of the whole run', unit: 'points', goal: atMost(0) },
        ours: [missing(storedLoad(cloud.dataDir, SOURCE))],
      },
    ];
    if (traced === null) {
      rows.push({ what: 'flushes a second; flushes for a command', notMeasured: 'strace is not installed' });
    } else {
      const aSecond = windows.points.map(({ flushesAS = Number.NaN }) => flushesAS);
      rows.push({ what: 'flushes a second without commands', unit: '1/s', ours: aSecond, goal: atMost(5) });
      const all = flushes();
      const ofACommand = (part: Flush['part']) =>
        windows.commands.map(
          ({ from, to }) => all.slice(from, to).filter((one) => one.part === part).length / commands,
        );
      const meanwhile = windows.commands.map(
        ({ from, to, seconds = Number.NaN }) =>
          all.slice(from, to).filter((one) => one.part === 'spool').length / seconds,
      );
      rows.push({
        ...{ what: 'flushes for a command, but for checkpoints', unit: 'flushes', goal: atMost(2) },
        ours: ofACommand('command'),
        note: `the spool's meanwhile, a second: ${meanwhile.map((one) => one.toFixed(2)).join(', ')}`,
      });
      rows.push({
        what: "flushes for a command: the inbox's checkpoints",
        unit: 'flushes',
        ours: ofACommand('checkpoint'),
      });
    }
    return { rows, facts: { windowMs, pointBytes: POINT_BYTES, commandsAWindow: commands } };
  },
};

type Figures = Partial<Record<'bytesAPoint' | 'flushesAS' | 'pointsAS' | 'from' | 'to' | 'seconds', number>>;

/** An agent that records one topic, once the first points have come. */
async function sampling(context: Context, cloud: TestCloud, traced: string | null): Promise<TestAgent> {
  const within =
    traced === null ? [] : ['strace', '-D', '-f', '-yy', '-o', traced, '-e', 'trace=fsync,fdatasync,sync_file_range'];
  const agent = await TestAgent.start({
    url: cloud.url,
    token: await cloud.register('robot'),
    env: { DROVER_TEST_LOAD: `${SOURCE}:${HZ}:${TEXT_BYTES}:steady` },
    dataDir: join(context.dir, 'agent'),
    within,
  });
  context.onEnd(() => agent.stop());
  await cloud.online('robot');
  await cloud.call('POST', '/robots/robot/streams', { source: SOURCE, type: 'std_msgs/msg/String', hz: HZ });
  await cloud.until<{ num_recordings: number }[]>(
    '/robots/robot/streams',
    ([stream]) => (stream?.num_recordings ?? 0) > HZ,
  );
  return agent;
}

/** Between the first and the last that are there: what is still on its way is not missing. */
function missing(numbers: readonly number[]): number {
  const [first = 0, last = 0] = [numbers.reduce((a, b) => Math.min(a, b)), numbers.reduce((a, b) => Math.max(a, b))];
  return last - first + 1 - new Set(numbers).size;
}
