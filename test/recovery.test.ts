import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';
import { LinkProxy } from './support/link-proxy.js';

const COUNTER = { source: '/counter', type: 'std_msgs/msg/Int64', hz: 100 };
const TRIGGER = { interface: 'service', name: '/reset_odometry', type: 'std_srvs/srv/Trigger', payload: {} };

interface Point {
  uuid: string;
  payload: { data: number };
}

describe('recovery without an operator', () => {
  let cloud: TestCloud;
  let proxy: LinkProxy;
  let agent: TestAgent;

  beforeAll(async () => {
    cloud = await TestCloud.start();
    proxy = await LinkProxy.start(cloud.url);
    agent = await TestAgent.start({ url: proxy.url, token: await cloud.register('rover-1') });
    await cloud.online('rover-1');
    await cloud.call('POST', '/robots/rover-1/streams', COUNTER);
    await recorded(0, 100);
  });

  afterAll(async () => {
    expect(await agent?.stop()).toBe(0);
    await proxy?.stop();
    expect(await cloud?.stop()).toBe(0);
  });

  /** Waits until `more` points beyond `before` are kept; returns how many are. */
  async function recorded(before: number, more: number): Promise<number> {
    type Streams = { num_recordings: number }[];
    const [stream] = await cloud.until<Streams>(
      '/robots/rover-1/streams',
      ([s]) => (s?.num_recordings ?? 0) >= before + more,
    );
    return stream?.num_recordings ?? 0;
  }

  /** Disables the stream: paging through its points would race with new ones. */
  async function stopped(): Promise<void> {
    const before = agent.process.lines.length;
    await cloud.call('PATCH', '/robots/rover-1/%2Fcounter', { enabled: false, hz: 100 });
    await agent.process.line((line) => /stream stops/.test(line.msg), before);
  }

  async function going(): Promise<void> {
    await cloud.call('PATCH', '/robots/rover-1/%2Fcounter', { enabled: true, hz: 100 });
  }

  /** As many as the stream has, in order: read anew where rows came between two pages, which show some of them twice then. */
  async function allValues(): Promise<number[]> {
    for (;;) {
      const count = await recorded(0, 0);
      const values: number[] = [];
      for (let offset = 0; offset < count; offset += 1000) {
        const page = await cloud.get<Point[]>(`/robots/rover-1/data?source=/counter&limit=1000&offset=${offset}`);
        values.push(...page.map((point) => point.payload.data));
      }
      if (values.length === count && (await recorded(0, 0)) === count) return values.sort((a, b) => a - b);
    }
  }

  /** What was sampled just before the stream stopped may still be under way, and a backlog behind it: waits until nothing lacks. */
  async function noneMissing(): Promise<number[]> {
    const between = (values: number[]) => (values.at(-1) ?? 0) - (values[0] ?? 0) + 1 - new Set(values).size;
    await expect.poll(async () => between(await allValues()), { timeout: 20_000 }).toBe(0);
    return await allValues();
  }

  it('kill -9 of the cloud: the robot comes back by itself, takes commands, and no sample is missing or doubled', async () => {
    const before = await recorded(0, 0);
    await cloud.crashAndRestart();
    await cloud.online('rover-1');
    expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
    await recorded(before, 100);
    await stopped();
    const values = await noneMissing();
    expect(new Set(values).size).toBe(values.length);
    await going();
  });

  it('a cut link: the robot is back after it, and what it sampled meanwhile arrives once', async () => {
    const before = await recorded(0, 0);
    proxy.cut();
    await cloud.online('rover-1', false);
    expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ error_code: 'robot_not_online' });
    proxy.mend();
    await cloud.online('rover-1');
    expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
    await recorded(before, 150);
    await stopped();
    const values = await allValues();
    expect(new Set(values).size).toBe(values.length);
    await going();
  });

  it('kill -9 of the agent: it comes back, reports its streams again, and a waiting command runs then', async () => {
    await agent.process.kill9();
    await cloud.online('rover-1', false);
    const { body } = await cloud.call<{ uuid: string }>('POST', '/robots/rover-1/commands', { ...TRIGGER, ttl_s: 60 });
    await agent.crashAndRestart();
    await cloud.online('rover-1');
    expect(await cloud.outcome(body.uuid)).toMatchObject({ state: 'executed' });
    await recorded(await recorded(0, 0), 50);
  });

  it('kill -9 of the agent while a goal runs: the outcome is told, and the goal is not sent again', async () => {
    const { body } = await cloud.call<{ uuid: string }>('POST', '/robots/rover-1/commands', {
      interface: 'action_send_goal',
      name: '/fibonacci',
      type: 'example_interfaces/action/Fibonacci',
      payload: { order: 60 },
    });
    await cloud.until<{ feedback: unknown }>(`/commands/${body.uuid}/outcome`, (outcome) => outcome.feedback !== null);
    await agent.crashAndRestart();
    expect(await cloud.outcome(body.uuid)).toMatchObject({ state: 'error', error_code: 'outcome_unknown' });
  });
});
