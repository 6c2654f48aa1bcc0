import { existsSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { RobotLink } from '@drover/shared/api/link';
import type { Stream } from '@drover/shared/api/streams';
import { expect, it, onTestFailed, onTestFinished } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';
import { LinkProxy } from './support/link-proxy.js';
import { droppedBytes, storedLoad } from './support/stored.js';
import { addStream, statusPath, untilStatus } from './support/streams.js';

/** Set by `npm run spool-bound`; the short form has less to fill. */
const boundMb = Number(process.env.DROVER_TEST_SPOOL_BOUND_MB ?? '8');
/** So many times the bound is dropped before the link is mended. */
const DROPPED_BOUNDS = 2;
/** About 6 MB a second, and two streams that are never the biggest. */
const LOAD = { '/big': [100, 40_000], '/less': [40, 50_000], '/small': [50, 2_000], '/tiny': [50, 16] } as const;
const sources = Object.keys(LOAD) as (keyof typeof LOAD)[];
/** What SQLite's write-ahead log may hold: 1000 pages are written back at the next commit. */
const WAL_BYTES_MAX = 16_000_000;

it(`an outage that fills a spool of ${boundMb} MB many times over: what is missing is exactly what the API says was dropped`, async () => {
  const cloud = await TestCloud.start();
  const proxy = await LinkProxy.start(cloud.url);
  const agent = await TestAgent.start({
    url: proxy.url,
    token: await cloud.register('rover-1'),
    env: {
      DROVER_SPOOL_MAX_MB: String(boundMb),
      DROVER_TEST_LOAD: sources.map((source) => [source, ...LOAD[source]].join(':')).join(),
    },
  });
  onTestFinished(async () => {
    await agent.stop();
    await proxy.stop();
    await cloud.stop();
  });
  await cloud.online('rover-1');
  // Sampled faster than published: nothing is left out before the spool.
  for (const source of sources) await addStream(cloud, source, 'std_msgs/msg/String', 200);
  for (const source of sources) await untilStatus(cloud, source, ({ state }) => state === 'receiving');
  // What was sampled is counted from the first that is stored: that of each stream must be, before any is dropped.
  for (const source of sources) await expect.poll(() => storedLoad(cloud.dataDir, source).length).toBeGreaterThan(0);
  await cloud.until<RobotLink>('/robots/rover-1/link', ({ spool }) => spool?.bytes_max === boundMb * 1_000_000);
  const goal = await cloud.call<{ uuid: string }>('POST', '/robots/rover-1/commands', {
    ...{ interface: 'action_send_goal', name: '/fibonacci', type: 'example_interfaces/action/Fibonacci' },
    payload: { order: 15 },
  });
  await cloud.until<{ state: string }>(`/commands/${goal.body.uuid}/outcome`, ({ state }) => state === 'sent');

  proxy.cut();
  const disk = { db: 0, wal: 0 };
  const size = (name: string) => (existsSync(join(agent.dataDir, name)) ? statSync(join(agent.dataDir, name)).size : 0);
  await expect
    .poll(
      () => {
        disk.db = Math.max(disk.db, size('spool.db'));
        disk.wal = Math.max(disk.wal, size('spool.db-wal'));
        return droppedBytes(agent.dataDir);
      },
      { timeout: 600_000, interval: 250 },
    )
    .toBeGreaterThan(DROPPED_BOUNDS * boundMb * 1_000_000);
  const during = await cloud.get<RobotLink>('/robots/rover-1/link');
  expect(during).toMatchObject({ connected_since: null, last_disconnect: { cause: 'reset' } });
  proxy.mend();
  await cloud.online('rover-1');
  for (const source of sources)
    await cloud.call('PATCH', statusPath(source, 'status').replace('/status', ''), { enabled: false, hz: 200 });
  await cloud.until<RobotLink>('/robots/rover-1/link', ({ spool }) => (spool?.bytes ?? Number.NaN) < 10_000, 300_000);

  const lines: string[] = [];
  onTestFailed(() => void writeSync(1, `${lines.join('\n')}\n`));
  await expect
    .poll(
      async () => {
        const { drops } = await cloud.get<RobotLink>('/robots/rover-1/link');
        const streams = await cloud.get<Stream[]>('/robots/rover-1/streams');
        lines.length = 0;
        return await Promise.all(
          sources.map(async (source) => {
            const stored = storedLoad(cloud.dataDir, source);
            const dropped = drops.filter((drop) => drop.source === source);
            const rows = dropped[0]?.rows ?? 0;
            const sampled = (stored.at(-1) ?? 0) - (stored[0] ?? 0) + 1;
            lines.push(`${source}: ${sampled} sampled, ${stored.length} stored, ${rows} dropped`);
            return {
              source,
              // Each once, in the order in which they were sampled.
              outOfOrder: stored.filter((n, at) => at > 0 && n <= (stored[at - 1] ?? 0)).length,
              missing: sampled - stored.length - rows,
              reasons: dropped.map(({ reason }) => reason),
              statusAgrees: (await untilStatus(cloud, source, () => true)).drops[0]?.rows === dropped[0]?.rows,
              counted: streams.find((stream) => stream.source === source)?.num_recordings === stored.length,
            };
          }),
        );
      },
      { timeout: 60_000, interval: 1_000 },
    )
    .toEqual(
      sources.map((source) => ({
        source,
        outOfOrder: 0,
        missing: 0,
        reasons: source === '/big' || source === '/less' ? ['spool_full'] : [],
        statusAgrees: true,
        counted: true,
      })),
    );
  // An outcome is never dropped: it is not in the spool at all.
  expect(await cloud.outcome(goal.body.uuid)).toMatchObject({ state: 'executed' });
  const mb = (bytes: number) => (bytes / 1_000_000).toFixed(1);
  lines.push(`spool.db at most ${mb(disk.db)} MB, its write-ahead log ${mb(disk.wal)} MB, bound ${boundMb} MB`);
  writeSync(1, `${lines.join('\n')}\n`);
  expect(disk.db).toBeLessThan(boundMb * 1_000_000 * 1.25);
  expect(disk.wal).toBeLessThan(WAL_BYTES_MAX);
}, 1_200_000);
