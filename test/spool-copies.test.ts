import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StreamStatus } from '@drover/shared/api/streams';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
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
  let other: TestAgent | undefined;

  beforeAll(async () => {
    cloud = await TestCloud.start();
    proxy = await LinkProxy.start(cloud.url);
    agent = await TestAgent.start({ url: proxy.url, token: await cloud.register('rover-1') });
    await cloud.online('rover-1');
    await addStream(cloud, COUNTER.source, COUNTER.type, COUNTER.hz);
    await counterGoesOn(cloud);
  });

  beforeEach(async () => {
    copy = await mkdtemp(join(tmpdir(), 'drover-copy-'));
  });

  afterEach(async () => {
    await other?.stop();
    await rm(copy, { recursive: true, force: true });
  });

  afterAll(async () => {
    expect(await agent?.stop()).toBe(0);
    await proxy?.stop();
    expect(await cloud?.stop()).toBe(0);
  });

  /** Of each run of the agent, all that it sampled. */
  async function eachOnce(what: string, robotId = 'rover-1'): Promise<void> {
    const { twice, runs } = await counterRuns(cloud, robotId);
    console.log(
      `${what}: ${twice} twice, runs ${runs.map(({ values, missing }) => `${values} - ${missing}`).join(', ')}`,
    );
    expect({ twice, missing: runs.map(({ missing }) => missing) }).toEqual({ twice: 0, missing: runs.map(() => 0) });
  }

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
    await eachOnce('copy of mid-session');
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
    const { drops } = await untilStatus(cloud, '/counter', (told) => restoredRows(told) > 0);
    console.log(drops);
    await eachOnce('copy with rows that were sent after');
  });

  it('with rows that were never sent, as the original was lost: they are sent', async () => {
    proxy.cut();
    await cloud.online('rover-1', false);
    await copied();
    await restored();
    proxy.mend();
    await agent.restart();
    await counterGoesOn(cloud, 200);
    await counterStopped(cloud);
    await eachOnce('copy with rows that were never sent');
    await cloud.call('PATCH', '/robots/rover-1/streams/%2Fcounter', { enabled: true, hz: COUNTER.hz });
  });

  it("to another robot, with that one's token: each robot gets its own data and none of the other's", async () => {
    await counterGoesOn(cloud);
    // At once, so that the newest of the samples are not sent yet.
    await copied();
    const token = await cloud.register('rover-2');
    expect((await cloud.call('POST', '/robots/rover-2/streams', COUNTER)).status).toBe(201);
    other = await TestAgent.start({ url: cloud.url, token, dataDir: copy });
    await other.process.line(({ msg, why }) => /set aside/.test(msg) && why === 'other-robot');
    await counterGoesOn(cloud, 100, 'rover-2');
    await eachOnce('of two robots with one image, the first');
    await eachOnce('the second', 'rover-2');
  });
});
