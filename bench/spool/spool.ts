import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestAgent } from '#test/support/agent';
import { TestCloud } from '#test/support/cloud';
import { atMost, type Benchmark, type Context, type Row, ratioAtMost } from '../harness/benchmark.js';
import { onPath } from '../harness/on-path.js';
import { diskBytesWritten } from '../harness/process-stats.js';
import { interleaved } from '../harness/windows.js';

const HZ = 100;
/** CDR of a String: its head, a length, the text and a zero. */
const TEXT_BYTES = 141;
const POINT_BYTES = TEXT_BYTES + 9;
const COMMAND = { interface: 'service', name: '/reset_odometry', type: 'std_srvs/srv/Trigger', payload: {} };

export const spool: Benchmark = {
  name: 'spool',
  summary: `what an agent writes and flushes at ${HZ} points a second, and for a command`,
  run: async (context) => {
    const windowMs = context.smoke ? 1_000 : 30_000;
    const commands = context.smoke ? 3 : 100;
    const traced = onPath('strace') ? join(context.dir, 'flushes') : null;
    const cloud = await TestCloud.start({}, join(context.dir, 'cloud'));
    context.onEnd(() => cloud.stop());
    const agent = await sampling(context, cloud, traced);
    const flushes = () => (traced === null ? Number.NaN : flushesIn(traced, agent.dataDir));
    const recorded = async () =>
      (await cloud.get<{ num_recordings: number }[]>('/robots/robot/streams'))[0]?.num_recordings ?? 0;

    const windows = await interleaved(context, {
      points: async () => {
        const before = { bytes: diskBytesWritten(agent.process.pid), flushes: flushes(), points: await recorded() };
        const startMs = performance.now();
        await new Promise((resolve) => setTimeout(resolve, windowMs));
        const seconds = (performance.now() - startMs) / 1000;
        const points = (await recorded()) - before.points;
        return {
          bytesAPoint: (diskBytesWritten(agent.process.pid) - before.bytes) / points,
          flushesAS: (flushes() - before.flushes) / seconds,
          pointsAS: points / seconds,
        };
      },
      // The flushes that came with commands, beyond those that the points alone take in that time.
      commands: async () => {
        const [before, startMs] = [flushes(), performance.now()];
        for (let n = 0; n < commands; n += 1) {
          const { state } = await cloud.run('robot', COMMAND);
          if (state !== 'executed') throw new Error(`a command ended as ${state}`);
        }
        return { flushes: flushes() - before, seconds: (performance.now() - startMs) / 1000 };
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
      },
    ];
    if (traced === null) {
      rows.push({ what: 'flushes a second; flushes for a command', notMeasured: 'strace is not installed' });
    } else {
      const aSecond = windows.points.map(({ flushesAS = Number.NaN }) => flushesAS);
      rows.push({ what: 'flushes a second without commands', unit: '1/s', ours: aSecond, goal: atMost(5) });
      rows.push({
        ...{ what: 'flushes for a command, beyond those', unit: 'flushes', goal: atMost(2) },
        ours: windows.commands.map(({ flushes: all = Number.NaN, seconds = 0 }, window) => {
          return (all - (aSecond[window] ?? 0) * seconds) / commands;
        }),
      });
    }
    return { rows, facts: { windowMs, pointBytes: POINT_BYTES, commandsAWindow: commands } };
  },
};

type Figures = Partial<Record<'bytesAPoint' | 'flushesAS' | 'pointsAS' | 'flushes' | 'seconds', number>>;

/** An agent that records one topic, once the first points have come. */
async function sampling(context: Context, cloud: TestCloud, traced: string | null): Promise<TestAgent> {
  const within =
    traced === null ? [] : ['strace', '-D', '-f', '-yy', '-o', traced, '-e', 'trace=fsync,fdatasync,sync_file_range'];
  const agent = await TestAgent.start({
    url: cloud.url,
    token: await cloud.register('robot'),
    env: { DROVER_TEST_LOAD: `/load:${HZ}:${TEXT_BYTES}` },
    dataDir: join(context.dir, 'agent'),
    within,
  });
  context.onEnd(() => agent.stop());
  await cloud.online('robot');
  await cloud.call('POST', '/robots/robot/streams', { source: '/load', type: 'std_msgs/msg/String', hz: HZ });
  await cloud.until<{ num_recordings: number }[]>(
    '/robots/robot/streams',
    ([stream]) => (stream?.num_recordings ?? 0) > HZ,
  );
  return agent;
}

/** Of files of the agent's; a flush that was not over when strace wrote of it stands on two lines. */
function flushesIn(file: string, dataDir: string): number {
  const lines = readFileSync(file, 'latin1').split('\n');
  return lines.filter((line) => line.includes('sync(') && line.includes(dataDir)).length;
}
