import { cpSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';
import { LinkProxy } from './support/link-proxy.js';
import { addStream, statusPath, untilStatus } from './support/streams.js';

/** What the robot keeps of what is desired of it. */
interface Kept {
  revision: number;
  vitals: { enabled: boolean };
  logs: { enabled: boolean; min_level: string };
  streams: { source: string; hz: number; enabled: boolean }[];
}

describe('what is desired of a robot', () => {
  let cloud: TestCloud;
  let proxy: LinkProxy;
  let agent: TestAgent;
  let token: string;
  let backup: string;

  beforeAll(async () => {
    backup = await mkdtemp(join(tmpdir(), 'drover-backup-'));
    cloud = await TestCloud.start();
    proxy = await LinkProxy.start(cloud.url);
    token = await cloud.register('rover-1');
    agent = await TestAgent.start({ url: proxy.url, token });
    await cloud.online('rover-1');
    await addStream(cloud, '/odom', 'nav_msgs/msg/Odometry', 5);
    await untilStatus(cloud, '/odom', ({ state }) => state === 'receiving');
  });

  afterAll(async () => {
    expect(await agent?.stop()).toBe(0);
    await proxy?.stop();
    expect(await cloud?.stop()).toBe(0);
    await rm(backup, { recursive: true, force: true });
  });

  const kept = (): Kept => JSON.parse(readFileSync(join(agent.dataDir, 'desired.json'), 'utf8')).desired;
  const keeps = async (wanted: object) => {
    await expect.poll(kept).toMatchObject(wanted);
  };
  const set = async (source: string, body: { enabled: boolean; hz: number }) => {
    const answer = await cloud.call('PATCH', statusPath(source, 'status').replace('/status', ''), body);
    expect(answer.status).toBe(200);
  };
  const recorded = async (source: string): Promise<number> => {
    const streams = await cloud.get<{ source: string; num_recordings: number }[]>('/robots/rover-1/streams');
    return streams.find((stream) => stream.source === source)?.num_recordings ?? 0;
  };
  const goesOn = async (source: string) => {
    const before = await recorded(source);
    await expect.poll(() => recorded(source)).toBeGreaterThan(before + 3);
  };

  it('and was changed while it was offline applies when it is back', async () => {
    proxy.cut();
    await cloud.online('rover-1', false);
    await set('/odom', { enabled: false, hz: 5 });
    await addStream(cloud, '/imu', 'sensor_msgs/msg/Imu', 5);
    await cloud.call('PATCH', '/robots/rover-1/logs/config', { min_level: 'error' });
    await cloud.call('PATCH', '/robots/rover-1/vitals/config', { enabled: false });
    proxy.mend();
    await keeps({
      vitals: { enabled: false },
      logs: { min_level: 'error' },
      streams: [
        { source: '/odom', enabled: false },
        { source: '/imu', enabled: true },
      ],
    });
    await goesOn('/imu');
  });

  it.each(['cloud', 'agent'] as const)(
    'holds where the %s is killed right after the change was answered',
    async (which) => {
      const hz = which === 'cloud' ? 7 : 8;
      await set('/imu', { enabled: true, hz });
      await (which === 'cloud' ? cloud : agent).crashAndRestart();
      await keeps({
        streams: [
          { source: '/odom', enabled: false },
          { source: '/imu', hz },
        ],
      });
      await cloud.online('rover-1');
      await goesOn('/imu');
    },
  );

  it('is what the cloud says now, where that was set back to a backup and the robot has a later revision', async () => {
    await cloud.restart(() => cpSync(cloud.dataDir, backup, { recursive: true }));
    await cloud.online('rover-1');
    await set('/imu', { enabled: false, hz: 9 });
    for (let hz = 1; hz <= 5; hz += 1) await set('/odom', { enabled: true, hz });
    await keeps({
      streams: [
        { source: '/odom', hz: 5, enabled: true },
        { source: '/imu', enabled: false },
      ],
    });
    const late = kept().revision;
    await cloud.restart(() => {
      rmSync(cloud.dataDir, { recursive: true });
      cpSync(backup, cloud.dataDir, { recursive: true });
    });
    await keeps({
      streams: [
        { source: '/odom', enabled: false },
        { source: '/imu', hz: 8, enabled: true },
      ],
    });
    expect(kept().revision).toBeLessThan(late);
    await goesOn('/imu');
    // And changes go on from there, though the robot has seen later revisions.
    await set('/imu', { enabled: true, hz: 6 });
    await keeps({
      streams: [
        { source: '/odom', enabled: false },
        { source: '/imu', hz: 6 },
      ],
    });
    expect(kept().revision).toBeLessThan(late);
    await agent.crashAndRestart();
    await goesOn('/imu');
    expect(kept().streams).toMatchObject([
      { source: '/odom', enabled: false },
      { source: '/imu', hz: 6 },
    ]);
  });

  it('is all told to a robot that is installed anew', async () => {
    const wanted = kept();
    expect(await agent.stop()).toBe(0);
    agent = await TestAgent.start({ url: proxy.url, token });
    await cloud.online('rover-1');
    await expect.poll(kept, { timeout: 20_000 }).toEqual(wanted);
    await goesOn('/imu');
    await untilStatus(cloud, '/odom', ({ state }) => state === 'disabled');
  });
});
