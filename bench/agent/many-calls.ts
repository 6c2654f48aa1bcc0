import { join } from 'node:path';
import { TestAgent } from '#test/support/agent';
import { API_KEY, TestCloud } from '#test/support/cloud';
import { atLeast, type Context, type Row } from '../harness/benchmark.js';
import type { Child } from '../harness/child.js';
import { HttpClient } from '../harness/http-client.js';
import { ROS_ENV, SERVICE, SERVICE_TYPE } from './names.js';

const ASK_AGAIN_MS = 100;
const TOO_MANY = 429;

/** Through the whole product: POSTed at once, to one service of a robot that is online. @throws Error where one is lost, or served twice */
export async function callsAtOnce(context: Context, server: Child): Promise<Row> {
  const count = context.smoke ? 50 : 1_000;
  await server.ask('served');
  const cloud = await TestCloud.start({}, join(context.dir, 'cloud'));
  context.onEnd(() => cloud.stop());
  const agent = await TestAgent.start({
    ...{ url: cloud.url, token: await cloud.register('robot'), dataDir: join(context.dir, 'agent') },
    env: { ...ROS_ENV, DROVER_ROS: 'rclnodejs' },
  });
  context.onEnd(() => agent.stop());
  await cloud.online('robot');
  const client = new HttpClient(cloud.url, { 'svc-api-key': API_KEY });
  context.onEnd(() => client.close());

  let refused = 0;
  const one = async (a: number): Promise<string> => {
    const content = { interface: 'service', name: SERVICE, type: SERVICE_TYPE, payload: { load_namespace: String(a) } };
    const post = () => client.ask<{ uuid: string }>('POST', '/robots/robot/commands', content);
    let posted = await post();
    // 500 may wait to be taken; whoever is past that is told so, and comes again.
    for (; posted.status === TOO_MANY; posted = await post()) {
      refused += 1;
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
    if (posted.status !== 201) throw new Error(`POST: ${posted.status} ${JSON.stringify(posted.body)}`);
    for (;;) {
      const path = `/commands/${posted.body.uuid}/outcome`;
      const { body } = await client.ask<{ state: string }>('GET', path);
      if (body.state === 'error') throw new Error(`a call failed: ${JSON.stringify(body)}`);
      if (body.state === 'executed') return body.state;
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  };
  const ends = await Promise.all(Array.from({ length: count }, (_, a) => one(a)));
  const served = (await server.ask<number[]>('served')).toSorted((a, b) => a - b);
  if (served.length !== count || served.some((a, at) => a !== at)) {
    throw new Error(`the server saw ${served.length} calls, ${new Set(served).size} different ones, of ${count}`);
  }
  const what = `${count.toLocaleString('en-US')} calls at once to one service, executed and served once each`;
  const note = `${refused} POSTs were answered with 429 and sent again`;
  return { what, unit: 'calls', ours: [ends.length], goal: atLeast(count), note };
}
