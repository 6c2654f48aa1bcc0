/** A backup taken beside live data and commands, and what becomes of a fleet when the cloud is set back to it. */
import { copyFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RobotLink } from '@drover/shared/api/link';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';
import { Running } from './support/process.js';
import { factsOf, integrityOf, stateOf, storedCounters } from './support/stored.js';
import { addStream } from './support/streams.js';

const TRIGGER = { interface: 'service', name: '/reset_odometry', type: 'std_srvs/srv/Trigger', payload: {} };

/** A goal of about so many steps of 200 ms. */
const goal = (order: number) => ({
  interface: 'action_send_goal',
  name: '/fibonacci',
  type: 'example_interfaces/action/Fibonacci',
  payload: { order },
});

describe('a backup beside a live fleet, restored later', () => {
  let dir: string;
  let backup: string;
  let cloud: TestCloud;
  const agents: TestAgent[] = [];
  /** What the robots' programs printed in lives before this one. */
  const earlier: string[] = [];

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'drover-backup-'));
    backup = join(dir, 'backup.db');
    cloud = await TestCloud.start();
    for (const id of ['rover-1', 'rover-2']) {
      agents.push(await TestAgent.start({ url: cloud.url, token: await cloud.register(id) }));
    }
    await cloud.online('rover-1');
    await cloud.online('rover-2');
    await addStream(cloud, '/counter', 'std_msgs/msg/Int64', 200);
  });
  afterAll(async () => {
    for (const agent of agents) await agent.stop();
    await cloud?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  const counted = () => storedCounters(cloud.dataDir).length;
  const post = async (robotId: string, command: object) => {
    const { status, body } = await cloud.call<{ uuid: string }>('POST', `/robots/${robotId}/commands`, command);
    expect(status).toBe(201);
    return body.uuid;
  };
  const backUp = async () => {
    const run = new Running('cloud', ['backup', backup], { DROVER_DATA_DIR: cloud.dataDir });
    return { code: await run.exited, said: run.text() };
  };
  /** How often a robot's program took a command to run it. */
  const taken = (uuid: string) =>
    [...earlier, ...agents.map((agent) => agent.process.text())]
      .join('\n')
      .split('\n')
      .filter((line) => line.includes('"command taken"') && line.includes(uuid)).length;

  const commands = { before: '', runs: '', waits: '', after: '', runsOn: '' };
  let atBackup: ReturnType<typeof factsOf>;
  let atStop: ReturnType<typeof factsOf>;

  it('is consistent, readable by its owner alone, and holds nothing up', async () => {
    commands.before = await post('rover-1', TRIGGER);
    await cloud.outcome(commands.before);
    await agents[1]?.process.stop();
    await cloud.online('rover-2', false);
    commands.waits = await post('rover-2', { ...TRIGGER, ttl_s: 600 });
    commands.runs = await post('rover-1', goal(35));
    const outcome = `/commands/${commands.runs}/outcome`;
    await cloud.until<{ feedback: unknown }>(outcome, ({ feedback }) => feedback !== null);

    await expect.poll(counted).toBeGreaterThan(50);
    const from = counted();
    expect(await backUp()).toMatchObject({ code: 0 });
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    expect(integrityOf(backup)).toBe('ok');
    expect([commands.before, commands.runs, commands.waits].map((uuid) => stateOf(backup, uuid))).toEqual([
      'executed',
      'sent',
      'created',
    ]);
    atBackup = factsOf(backup);
    expect(atBackup.counters).toEqual(atBackup.counts);
    expect(atBackup.rows).toBe(atBackup.marked);
    expect(counted()).toBeGreaterThan(from);
    const again = await backUp();
    expect([again.code, again.said]).toEqual([1, expect.stringContaining('is there already')]);
  });

  it('is put in the place of the store after the fleet has gone on', async () => {
    expect(await cloud.outcome(commands.runs)).toMatchObject({ state: 'executed' });
    earlier.push(agents[1]?.process.text() ?? '');
    await agents[1]?.restart();
    expect(await cloud.outcome(commands.waits)).toMatchObject({ state: 'executed' });
    commands.after = await post('rover-1', TRIGGER);
    expect(await cloud.outcome(commands.after)).toMatchObject({ state: 'executed' });
    const token = await cloud.register('rover-3');
    agents.push(await TestAgent.start({ url: cloud.url, token }));
    await cloud.online('rover-3');
    await addStream(cloud, '/odom', 'nav_msgs/msg/Odometry', 5);
    const from = counted();
    await expect.poll(counted).toBeGreaterThan(from + 50);
    commands.runsOn = await post('rover-1', goal(40));
    await cloud.until<{ feedback: unknown }>(
      `/commands/${commands.runsOn}/outcome`,
      ({ feedback }) => feedback !== null,
    );
    await cloud.restart(() => {
      const store = join(cloud.dataDir, 'drover.db');
      renameSync(store, join(dir, 'at-stop.db'));
      for (const suffix of ['-wal', '-shm']) rmSync(store + suffix, { force: true });
      copyFileSync(backup, store);
    });
    atStop = factsOf(join(dir, 'at-stop.db'));
    expect(atStop.rows).toBe(atStop.marked);
  });

  it('has the robots back by themselves, and their data goes on', async () => {
    await cloud.online('rover-1');
    await cloud.online('rover-2');
    const from = counted();
    await expect.poll(counted).toBeGreaterThan(from + 100);
    const numbers = storedCounters(cloud.dataDir).sort((a, b) => a - b);
    expect(new Set(numbers).size).toBe(numbers.length);
    // One hole: what came between the backup and the stop.
    const holes = numbers.filter((number, at) => at > 0 && number !== (numbers[at - 1] ?? 0) + 1);
    expect(holes).toHaveLength(1);
  });

  it('says how many rows it lacks that robots had delivered: just those that came after the backup', async () => {
    let missing = 0;
    for (const id of ['rover-1', 'rover-2']) {
      const link = await cloud.until<RobotLink>(`/robots/${id}/link`, ({ missing_rows: rows }) => rows > 0);
      missing += link.missing_rows;
      expect(link.missing_found_at).not.toBeNull();
    }
    // Those of rover-3, which this store does not know, aside.
    expect(missing).toBeLessThanOrEqual(atStop.rows - atBackup.rows);
    const { rows, marked, counters, counts } = factsOf(join(cloud.dataDir, 'drover.db'));
    expect(marked - rows).toBe(missing);
    expect(counters).toEqual(counts);
    expect(cloud.process.text()).toContain('which this store does not have');
  });

  it('tells how commands of before the backup have ended since, and runs none of them again', async () => {
    for (const uuid of [commands.before, commands.runs, commands.waits]) {
      expect(await cloud.outcome(uuid)).toMatchObject({ state: 'executed' });
      expect(taken(uuid)).toBe(1);
    }
    expect((await cloud.outcome(commands.runs)).result).toMatchObject({ sequence: expect.any(Array) });
  });

  it('does not know commands of after the backup, and takes their outcomes for what they are', async () => {
    for (const uuid of [commands.after, commands.runsOn]) {
      expect((await cloud.call('GET', `/commands/${uuid}`)).status).toBe(404);
    }
    const agent = agents[0] as TestAgent;
    await agent.process.line(({ msg, command }) => msg === 'command ended' && command === commands.runsOn);
    // A command that ends after it: the session stands.
    expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
    const lines = cloud.process.lines.filter(({ robot }) => robot === 'rover-1');
    expect(lines.filter(({ msg }) => msg === 'robot connected')).toHaveLength(1);
    expect(lines.filter(({ msg }) => msg === 'session refused' || msg === 'session failed')).toEqual([]);
    expect([taken(commands.after), taken(commands.runsOn)]).toEqual([1, 1]);
  });

  it('has what robots should do as it was at the backup, and they do that', async () => {
    const streams = await cloud.get<{ source: string }[]>('/robots/rover-1/streams');
    expect(streams.map(({ source }) => source)).toEqual(['/counter']);
    // What waited in the spool has come; the robot samples it no more.
    let stored = -1;
    const stopped = async () => {
      const before = stored;
      stored = storedCounters(cloud.dataDir, '/odom').length;
      return stored === before;
    };
    await expect.poll(stopped, { interval: 2_000, timeout: 15_000 }).toBe(true);
  });

  it('does not know a robot of after the backup, whose agent says what to do', async () => {
    const agent = agents[2] as TestAgent;
    const line = await agent.process.line(({ msg }) => msg.includes('refuses the robot'));
    expect(line.msg).toContain('restored from a backup');
    expect((await cloud.call('GET', '/robots/rover-3')).status).toBe(404);
    await cloud.register('rover-3');
  });
});
