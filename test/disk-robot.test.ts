import type { RobotLink } from '@drover/shared/api/link';
import type { StreamStatus } from '@drover/shared/api/streams';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestAgent } from './support/agent.js';
import type { TestCloud } from './support/cloud.js';
import { counterGoesOn, counterValues, tally } from './support/counter.js';
import { type OnSmallDisk, startOnSmallDisk } from './support/on-small-disk.js';
import { describeDisk, type SmallDisk } from './support/small-disk.js';
import { addStream, untilStatus } from './support/streams.js';

const TRIGGER = { interface: 'service', name: '/reset_odometry', type: 'std_srvs/srv/Trigger', payload: {} };

describeDisk('a robot whose disk takes no writes', () => {
  let system: OnSmallDisk;
  let cloud: TestCloud;
  let disk: SmallDisk;
  let agent: TestAgent;

  beforeAll(async () => {
    system = await startOnSmallDisk('agent', { supervised: true, env: { DROVER_SPOOL_MEMORY_MB: '3' } });
    ({ cloud, disk, agent } = system);
  });
  afterAll(() => system?.stop());

  /** As the API shows it, long before memory is at its bound. */
  const storageIs = (state: string) =>
    cloud.until<RobotLink>('/robots/rover-1/link', ({ spool }) => spool?.storage === state);

  it('because it is full: commands are refused with words, samples wait, and all goes on by itself once there is room', async () => {
    const since = agent.process.lines.length;
    disk.fill();
    const refused = await cloud.run('rover-1', TRIGGER);
    expect(refused).toMatchObject({ state: 'error', error_code: 'robot_storage_failed' });
    expect(refused.error_message).toMatch(/disk.*full/);
    await agent.process.line((line) => /spool can not be written/.test(line.msg), since);
    expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ error_code: 'robot_storage_failed' });
    await storageIs('failing');
    disk.free();
    await counterGoesOn(cloud, 50);
    await storageIs('ok');
    expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
    const values = tally(await counterValues(cloud));
    expect(values).toMatchObject({ twice: 0, missing: 0 });
    const said = agent.process.lines.slice(since).filter(({ level }) => Number(level) >= 40);
    console.log(
      'robot full',
      values,
      said.map(({ msg }) => msg),
    );
    // Two lines a command that is refused, one for the data; none a sample, and none of a supervisor.
    expect(said.length).toBeLessThanOrEqual(8);
    expect(agent.process.text()).not.toContain('"part":"supervisor"');
  });

  it('for so long that memory is at its bound: what is dropped is counted, to the sample', async () => {
    await addStream(cloud, '/scan', 'sensor_msgs/msg/LaserScan', 10);
    await addStream(cloud, '/odom', 'nav_msgs/msg/Odometry', 20);
    await addStream(cloud, '/imu', 'sensor_msgs/msg/Imu', 50);
    await untilStatus(cloud, '/imu', ({ state }) => state === 'receiving');
    disk.fill();
    const dropped = (status: StreamStatus) => status.drops.find(({ reason }) => reason === 'disk_refused')?.rows ?? 0;
    await untilStatus(cloud, '/counter', (status) => dropped(status) > 50, 60_000);
    disk.free();
    await counterGoesOn(cloud, 50);
    const values = tally(await counterValues(cloud));
    expect(values.twice).toBe(0);
    // Told every 5 s.
    const status = await untilStatus(cloud, '/counter', (told) => dropped(told) === values.missing);
    expect(values.missing).toBeGreaterThan(50);
    console.log('robot full for long', values, status.drops);
  });

  it('at its start: waits with words instead of crashing again and again, and starts by itself once there is room', async () => {
    // A clean stop leaves no write-ahead log behind, into whose room the next agent could still write.
    expect(await agent.process.stop()).toBe(0);
    disk.fill();
    await agent.restart();
    const line = await agent.process.line(({ msg }) => /takes no writes/.test(msg));
    expect(line.msg).toMatch(/disk is full: make room/);
    disk.free();
    await cloud.online('rover-1');
    expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
    expect(agent.process.text()).not.toContain('"part":"supervisor"');
  });

  it('because it is read-only at its start: the same, and it can be stopped meanwhile', async () => {
    expect(await agent.process.stop()).toBe(0);
    disk.setReadOnly(true);
    await agent.restart();
    const line = await agent.process.line(({ msg }) => /takes no writes/.test(msg));
    expect(line.msg).toMatch(/read-only: remount it/);
    expect(await agent.process.stop()).toBe(0);
    await agent.restart();
    await agent.process.line(({ msg }) => /takes no writes/.test(msg));
    disk.setReadOnly(false);
    await cloud.online('rover-1');
    expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
  });
});
