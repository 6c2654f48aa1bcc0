import { expect, it, onTestFinished } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';
import { LinkProxy } from './support/link-proxy.js';
import { addStream, statusPath, untilStatus } from './support/streams.js';

interface Point {
  payload: { data: number };
}

it('after an outage a stream with a bound on its age brings what is young, and counts exactly what it leaves out', async () => {
  const cloud = await TestCloud.start();
  const proxy = await LinkProxy.start(cloud.url);
  const agent = await TestAgent.start({ url: proxy.url, token: await cloud.register('rover-1') });
  onTestFinished(async () => {
    await agent.stop();
    await proxy.stop();
    await cloud.stop();
  });
  await cloud.online('rover-1');
  // Counts 50 a second; sampled faster than that nothing is left out.
  await addStream(cloud, '/counter', 'std_msgs/msg/Int64', 200);
  await cloud.call('PATCH', statusPath('/counter', 'options'), { max_age_s: 1 });
  await untilStatus(cloud, '/counter', (now) => now.state === 'receiving' && now.max_age_s === 1);
  const recorded = async () => {
    const points = await cloud.get<Point[]>('/robots/rover-1/data?source=/counter&limit=1000');
    return points.map(({ payload }) => payload.data).reverse();
  };
  await expect.poll(async () => (await recorded()).length).toBeGreaterThan(20);
  proxy.cut();
  await cloud.online('rover-1', false);
  const before = (await recorded()).at(-1) ?? 0;
  proxy.mend();
  await cloud.online('rover-1');
  const { drops } = await untilStatus(cloud, '/counter', (now) => now.drops.length > 0, 30_000);
  expect(drops).toMatchObject([{ reason: 'too_old' }]);
  await expect.poll(async () => Math.max(...(await recorded()))).toBeGreaterThan(before + 150);
  // So that a page holds it all; the count is told every five seconds, of a disabled stream too.
  await cloud.call('PATCH', '/robots/rover-1/%2Fcounter', { enabled: false, hz: 200 });
  await expect
    .poll(
      async () => {
        const status = await untilStatus(cloud, '/counter', () => true);
        const numbers = (await recorded()).sort((a, b) => a - b);
        expect(numbers).toHaveLength(new Set(numbers).size);
        const missing = (numbers.at(-1) ?? 0) - (numbers.at(0) ?? 0) + 1 - numbers.length;
        return { missing, dropped: status.drops[0]?.rows === missing };
      },
      { timeout: 20_000, interval: 500 },
    )
    .toEqual({ missing: expect.any(Number), dropped: true });
}, 90_000);
