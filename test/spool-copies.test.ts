import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StreamStatus } from '@drover/shared/api/streams';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';
import { COUNTER, counterGoesOn, counterRuns, counterStopped } from './support/counter.js';
import { LinkProxy } from './support/link-proxy.js';
import { addStream, untilStatus } from './support/streams.js';

const SPOOL_FILES = ['spool.db', 'spool.db-wal', 'spool.db-shm'];
const restoredRows = (status: StreamStatus) =>
  status.drops.find(({ reason }) => reason === 'spool_restored')?.rows ?? 0;

describe('a spool that was copied', () => {
  let cloud: TestCloud;
  let proxy: LinkProxy;
  let agent: TestAgent;
  let copy: string;
  const others: TestAgent[] = [];

  beforeEach(async () => {
    copy = await mkdtemp(join(tmpdir(), 'drover-copy-'));
    cloud = await TestCloud.start();
    proxy = await LinkProxy.start(cloud.url);
    agent = await TestAgent.start({ url: proxy.url, token: await cloud.register('rover-1') });
    await cloud.online('rover-1');
    await addStream(cloud, COUNTER.source, COUNTER.type, COUNTER.hz);
    await counterGoesOn(cloud);
  });

  afterEach(async () => {
    for (const other of others.splice(0)) await other.stop();
    expect(await agent?.stop()).toBe(0);
    await proxy?.stop();
    expect(await cloud?.stop()).toBe(0);
    await rm(copy, { recursive: true, force: true });
  });

  /** As a backup of the disk has it: of one moment. */
  async function copied(): Promise<void> {
    agent.process.signal('SIGSTOP');
    await cp(agent.dataDir, copy, { recursive: true });
    agent.process.signal('SIGCONT');
  }

  async function restored(): Promise<void> {
    expect(await agent.process.stop()).toBe(0);
    for (const name of SPOOL_FILES) {
      await rm(join(agent.dataDir, name), { force: true });
      await cp(join(copy, name), join(agent.dataDir, name)).catch(() => {});
    }
  }

  it('in mid-session and restored later: nothing new is lost, nothing old comes twice', async () => {
    await copied();
    await counterGoesOn(cloud, 100);
    await restored();
    await agent.restart();
    await agent.process.line(({ msg }) => /spool is an old copy/.test(msg));
    await counterGoesOn(cloud, 100);
    await counterStopped(cloud);
    const runs = await counterRuns(cloud);
    console.log('mid-session copy', runs);
    expect(runs).toMatchObject({ twice: 0, runs: [{ missing: 0 }, { missing: 0 }] });
  });

  it('with rows that were sent after: they do not come again, and are counted', async () => {
    proxy.cut();
    await cloud.online('rover-1', false);
    await copied();
    proxy.mend();
    await counterGoesOn(cloud, 100);
    await restored();
    await agent.restart();
    await agent.process.line(({ msg }) => /spool is an old copy/.test(msg));
    await counterGoesOn(cloud, 100);
    const status = await untilStatus(cloud, '/counter', (told) => restoredRows(told) > 0);
    await counterStopped(cloud);
    const runs = await counterRuns(cloud);
    console.log('copy with unsent rows', runs, status.drops);
    expect(runs).toMatchObject({ twice: 0, runs: [{ missing: 0 }, { missing: 0 }] });
  });

  it('with rows that were never sent, as the original was lost: they are sent', async () => {
    await proxy.cut();
    await cloud.online('rover-1', false);
    await copied();
    await restored();
    proxy.mend();
    await agent.restart();
    await counterGoesOn(cloud, 200);
    await counterStopped(cloud);
    const runs = await counterRuns(cloud);
    console.log('copy with rows never sent', runs);
    expect(runs).toMatchObject({ twice: 0, runs: [{ missing: 0 }, { missing: 0 }] });
  });

  it("to another robot, with that one's token: each robot gets its own data and none of the other's", async () => {
    proxy.cut();
    await cloud.online('rover-1', false);
    await copied();
    const token = await cloud.register('rover-2');
    await addStreamTo('rover-2');
    others.push(await TestAgent.start({ url: cloud.url, token, dataDir: copy }));
    await counterGoesOn(cloud, 100, 'rover-2');
    proxy.mend();
    await counterGoesOn(cloud, 100);
    await counterStopped(cloud);
    await counterStopped(cloud, 'rover-2');
    const [first, second] = [await counterRuns(cloud), await counterRuns(cloud, 'rover-2')];
    console.log('two robots of one image', first, second);
    expect(first).toMatchObject({ twice: 0, runs: [{ missing: 0 }] });
    expect(second).toMatchObject({ twice: 0, runs: [{ missing: 0, first: 1 }] });
  });

  async function addStreamTo(robotId: string): Promise<void> {
    const answer = await cloud.call('POST', `/robots/${robotId}/streams`, COUNTER);
    expect(answer.status).toBe(201);
  }
});
