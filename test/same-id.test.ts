import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';
import { LinkProxy } from './support/link-proxy.js';

const ROBOT = 'rover-1';
const COUNTER = { source: '/counter', type: 'std_msgs/msg/Int64', hz: 100 };

interface Point {
  readonly stamp: string;
}

let cloud: TestCloud;
let proxy: LinkProxy;
let agent: TestAgent | undefined;

beforeAll(async () => {
  cloud = await TestCloud.start();
  proxy = await LinkProxy.start(cloud.url);
});

afterAll(async () => {
  expect(await agent?.stop()).toBe(0);
  await proxy?.stop();
  expect(await cloud?.stop()).toBe(0);
});

/** An agent of the robot as it is now registered, which has recorded something. */
async function recording(dataDir?: string): Promise<TestAgent> {
  const token = await cloud.register(ROBOT);
  await cloud.call('POST', `/robots/${ROBOT}/streams`, COUNTER);
  const started = await TestAgent.start({ url: proxy.url, token, ...(dataDir !== undefined && { dataDir }) });
  await cloud.until<{ num_recordings: number }[]>(
    `/robots/${ROBOT}/streams`,
    ([stream]) => (stream?.num_recordings ?? 0) > 100,
  );
  return started;
}

it('what waits on the disk of a deleted robot does not become that of a new one with its id', async () => {
  const first = await recording();
  const { dataDir } = first;
  await proxy.cut();
  await cloud.online(ROBOT, false);
  await first.process.kill9();
  expect((await cloud.call('DELETE', `/robots/${ROBOT}`)).status).toBe(204);
  await proxy.mend();
  const madeMs = Date.now();
  agent = await recording(dataDir);
  const points = await cloud.get<Point[]>(`/robots/${ROBOT}/data?source=/counter&limit=1000`);
  expect(Math.min(...points.map(({ stamp }) => Date.parse(stamp)))).toBeGreaterThanOrEqual(madeMs);
  const aside = (await readdir(dataDir))
    .filter((name) => /\.other-robot-.*Z$/.test(name))
    .map((name) => name.split('.')[0]);
  expect(aside.sort()).toEqual(['inbox', 'spool']);
});
