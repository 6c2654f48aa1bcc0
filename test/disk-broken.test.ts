import { closeSync, existsSync, openSync, readdirSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';
import { COUNTER, counterGoesOn, counterRuns, counterStopped } from './support/counter.js';
import { Running } from './support/process.js';
import { openSqlite } from './support/stored.js';
import { addStream } from './support/streams.js';

const TRIGGER = { interface: 'service', name: '/reset_odometry', type: 'std_srvs/srv/Trigger', payload: {} };

/** Overwrites a file from its begin, in its place and at its length. */
function overwrite(path: string): void {
  if (!existsSync(path)) return;
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(statSync(path).size, 0xa5), 0, undefined, 0);
  closeSync(file);
}

/** Holds the lock of who writes, as an open sqlite3 does after BEGIN IMMEDIATE. */
function holdLock(path: string): () => void {
  const database = openSqlite(path);
  database.exec('BEGIN IMMEDIATE');
  return () => database.close();
}

describe('a broken or locked file', () => {
  let cloud: TestCloud;
  let agent: TestAgent;

  beforeAll(async () => {
    cloud = await TestCloud.start();
    agent = await TestAgent.start({ url: cloud.url, token: await cloud.register('rover-1'), supervised: true });
    await cloud.online('rover-1');
    await addStream(cloud, COUNTER.source, COUNTER.type, COUNTER.hz);
    await counterGoesOn(cloud);
  });

  afterAll(async () => {
    expect(await agent?.stop()).toBe(0);
    await cloud?.stop();
  });

  const aside = (name: string) => readdirSync(agent.dataDir).filter((file) => file.startsWith(`${name}.corrupt`));
  const neverDied = () => expect(agent.process.text()).not.toContain('"part":"supervisor"');

  it("a robot's files at rest: set aside, said, and all goes on, with nothing twice", async () => {
    expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
    expect(await agent.process.stop()).toBe(0);
    const files = ['spool.db', 'inbox.db', 'desired.json'];
    for (const name of files) overwrite(join(agent.dataDir, name));
    await agent.restart();
    const saidOf = (name: string) =>
      agent.process.line(({ msg, file }) => /set aside/.test(msg) && String(file).endsWith(name));
    for (const name of files) await saidOf(name);
    await counterGoesOn(cloud);
    expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
    expect(await counterRuns(cloud)).toMatchObject({ twice: 0, runs: [{ missing: 0 }, { missing: 0 }] });
    for (const name of files) expect([name, aside(name).length]).toEqual([name, 1]);
    expect(await agent.process.stop()).toBe(0);
    writeFileSync(join(agent.dataDir, 'desired.json'), '');
    await agent.restart();
    await saidOf('desired.json');
    await counterGoesOn(cloud);
    neverDied();
  });

  it('both databases of a robot that runs: it goes on, then or after a restart, and nothing comes twice', async () => {
    for (const name of ['spool.db', 'spool.db-wal', 'inbox.db', 'inbox.db-wal']) overwrite(join(agent.dataDir, name));
    // What is in memory may hide the damage for a while.
    await counterGoesOn(cloud, 100);
    const outcome = await cloud.run('rover-1', TRIGGER);
    expect(['executed', 'error']).toContain(outcome.state);
    expect(await agent.process.stop()).toBe(0);
    await agent.restart();
    await cloud.online('rover-1');
    await counterGoesOn(cloud, 100);
    expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
    const runs = await counterRuns(cloud);
    console.log('broken while it ran', runs, [...aside('spool.db'), ...aside('inbox.db')]);
    expect(runs.twice).toBe(0);
    neverDied();
  });

  it("a robot's databases, locked by another program: commands are refused with words, samples wait", async () => {
    const since = agent.process.lines.length;
    const release = ['spool.db', 'inbox.db'].map((name) => holdLock(join(agent.dataDir, name)));
    const refused = await cloud.run('rover-1', TRIGGER);
    expect(refused).toMatchObject({ error_code: 'robot_storage_failed', error_message: expect.stringMatching(/lock/) });
    await agent.process.line(({ msg }) => /spool can not be written/.test(msg), since);
    for (const letGo of release) letGo();
    await counterGoesOn(cloud, 50);
    expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
    const runs = await counterRuns(cloud);
    console.log('robot locked', runs.runs.at(-1));
    expect(runs).toMatchObject({ twice: 0 });
    expect(runs.runs.at(-1)?.missing).toBe(0);
    neverDied();
  });

  it("the cloud's store, locked by another program: 503 with words, reads go on, all data arrives after", async () => {
    const release = holdLock(join(cloud.dataDir, 'drover.db'));
    const refused = await cloud.call<{ message: string }>('POST', '/robots', { id: 'rover-2' });
    expect(refused).toMatchObject({ status: 503, body: { error_code: 'unavailable' } });
    expect(refused.body.message).toMatch(/another program holds a lock/);
    expect((await cloud.call('GET', '/robots')).status).toBe(200);
    release();
    await counterGoesOn(cloud, 100);
    await counterStopped(cloud);
    const runs = await counterRuns(cloud);
    console.log('cloud locked', runs.runs.at(-1));
    expect(runs).toMatchObject({ twice: 0 });
    expect(runs.runs.at(-1)?.missing).toBe(0);
  });

  it("the cloud's store at rest: refused in one line that says what to do, and left as it is", async () => {
    expect(await cloud.process.stop()).toBe(0);
    const path = join(cloud.dataDir, 'drover.db');
    overwrite(path);
    const { port } = new URL(cloud.url);
    const again = new Running('cloud', [], { DROVER_PORT: port, DROVER_DATA_DIR: cloud.dataDir });
    expect(await again.exited).toBe(1);
    expect(again.lines.map(({ msg }) => msg)).toEqual([expect.stringMatching(/is corrupt.*put a backup in its place/)]);
    expect(existsSync(path)).toBe(true);
  });
});
