import type { Robot } from '@drover/shared/api/robots';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TestAgent } from '../support/agent.js';
import { TestCloud } from '../support/cloud.js';
import { LinkProxy } from '../support/link-proxy.js';

const LOST_WITHIN_MS = 25_000;
const TRIGGER = { interface: 'service', name: '/reset_odometry', type: 'std_srvs/srv/Trigger', payload: {} };

describe('presence, with real processes', () => {
  let cloud: TestCloud;
  let proxy: LinkProxy;
  let agents: TestAgent[];
  let robots = 0;
  let id: string;
  let token: string;
  let agent: TestAgent;

  beforeAll(async () => {
    cloud = await TestCloud.start();
  });
  afterAll(async () => {
    await cloud?.stop();
  });
  beforeEach(async () => {
    robots += 1;
    id = `rover-${robots}`;
    token = await cloud.register(id);
    proxy = await LinkProxy.start(cloud.url);
    agents = [];
    agent = await start(proxy.url);
    await cloud.online(id);
  });
  afterEach(async () => {
    proxy.mend();
    await Promise.all(agents.map((one) => one.stop()));
    await proxy.stop();
  });

  async function start(url: string): Promise<TestAgent> {
    const started = await TestAgent.start({ url, token });
    agents.push(started);
    return started;
  }

  const robot = () => cloud.get<Robot>(`/robots/${id}`);
  const connections = (of: TestAgent) => of.process.lines.filter(({ msg }) => msg === 'connected').length;

  it('a connection that died without a word is found by both sides; the robot is back on a new one', async () => {
    const since = (await robot()).online_updated_at;
    proxy.forget();
    const forgottenMs = Date.now();
    // The agent hears nothing, and opens a new session; the cloud's view is that session's: the robot may never have been away.
    await agent.process.line(({ msg }) => /nothing heard for 20 s/.test(msg));
    expect(Date.now() - forgottenMs).toBeLessThan(LOST_WITHIN_MS);
    await expect.poll(() => connections(agent)).toBe(2);
    expect(await cloud.run(id, TRIGGER)).toMatchObject({ state: 'executed' });
    const now = await robot();
    expect(now.online).toBe(true);
    if (now.online_updated_at !== since) {
      // The cloud was first to notice: then it said so, and in time.
      expect(Date.parse(now.online_updated_at) - forgottenMs).toBeLessThan(LOST_WITHIN_MS);
    }
  });

  it('an agent that is killed on a stalled line is offline within 25 s', async () => {
    proxy.stall();
    const stalledMs = Date.now();
    await agent.process.kill9();
    await cloud.online(id, false, LOST_WITHIN_MS + 5_000);
    expect(Date.parse((await robot()).online_updated_at) - stalledMs).toBeLessThan(LOST_WITHIN_MS);
    await agent.restart();
  });

  it('a network that resets the connection again and again changes nothing that is stored', async () => {
    const since = (await robot()).online_updated_at;
    for (let round = 1; round <= 6; round += 1) {
      proxy.reset();
      await expect.poll(() => connections(agent), { timeout: 30_000, interval: 20 }).toBe(round + 1);
    }
    expect(await robot()).toMatchObject({ online: true, online_updated_at: since });
  });

  it('a second agent with the token takes over; the first says so and waits five minutes; nothing changes for the cloud', async () => {
    const since = (await robot()).online_updated_at;
    const second = await start(cloud.url);
    const said = await agent.process.line(({ msg }) => /another agent connected with this robot's token/.test(msg));
    expect(said.msg).toContain('stop one of them');
    expect(said.retryInMs).toBeGreaterThan(4.4 * 60_000);
    expect(said.retryInMs).toBeLessThan(5.6 * 60_000);
    expect(connections(second)).toBe(1);
    expect(await cloud.run(id, TRIGGER)).toMatchObject({ state: 'executed' });
    expect(await robot()).toMatchObject({ online: true, online_updated_at: since });
  });

  it.runIf(process.env.DROVER_TEST_LONG)(
    'the one that was replaced comes back only once the other is gone',
    async () => {
      const second = await start(cloud.url);
      await agent.process.line(({ msg }) => /another agent connected/.test(msg));
      const refused = await agent.process.line(({ msg }) => /another agent is connected/.test(msg));
      expect(refused.retryInMs).toBeGreaterThan(4.4 * 60_000);
      expect(connections(second)).toBe(1);
      await second.process.stop();
      await cloud.online(id, false);
      await cloud.online(id, true, 6 * 60_000);
      expect(connections(agent)).toBe(2);
    },
    15 * 60_000,
  );

  it('a cloud that crashed keeps the time since which a robot is online, and finds out who did not come back', async () => {
    const goneToken = await cloud.register(`gone-${id}`);
    const gone = await TestAgent.start({ url: cloud.url, token: goneToken });
    agents.push(gone);
    await cloud.online(`gone-${id}`);
    const since = (await robot()).online_updated_at;
    const goneSince = (await cloud.get<Robot>(`/robots/gone-${id}`)).online_updated_at;
    await cloud.process.kill9();
    await gone.process.kill9();
    await cloud.crashAndRestart();
    const restartMs = Date.now();
    // Right after: what the store knew last, for both.
    expect(await robot()).toMatchObject({ online: true, online_updated_at: since });
    expect(await cloud.get<Robot>(`/robots/gone-${id}`)).toMatchObject({ online: true, online_updated_at: goneSince });
    await agent.process.line(({ msg }) => msg === 'connected', agent.process.lines.length);
    await cloud.online(`gone-${id}`, false, LOST_WITHIN_MS + 5_000);
    const lost = await cloud.get<Robot>(`/robots/gone-${id}`);
    expect(Date.parse(lost.online_updated_at)).toBeGreaterThan(restartMs);
    expect(Date.parse(lost.online_updated_at)).toBeLessThan(restartMs + LOST_WITHIN_MS);
    expect(await robot()).toMatchObject({ online: true, online_updated_at: since });
    await gone.restart();
  });
});
