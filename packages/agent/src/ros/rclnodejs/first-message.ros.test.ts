import { randomBytes } from 'node:crypto';
import { encodeCdr } from '@drover/shared/ros/cdr';
import type { MessageSchema } from '@drover/shared/ros/definitions';
import { fromJson } from '@drover/shared/ros/from-json';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RosGraph } from '../graph.js';
import { type RclpyPeer, startRclpyPeer } from '../testing/rclpy-peer.js';
import { describeRos } from '../testing/ros.js';
import { createRclnodejsGraph } from './graph.js';

const DOMAIN_ID = 26;
const INT64 = 'std_msgs/msg/Int64';

describeRos('messages and what they are sent by', () => {
  let graph: RosGraph;
  let peer: RclpyPeer;
  let schema: MessageSchema;

  beforeAll(async () => {
    process.env.ROS_AUTOMATIC_DISCOVERY_RANGE = 'LOCALHOST';
    peer = await startRclpyPeer({ domainId: DOMAIN_ID });
    graph = createRclnodejsGraph({ domainId: DOMAIN_ID, log: { warn() {} }, idleMs: 60_000 });
    await graph.start();
    const definition = await graph.describe(INT64);
    if (definition.kind !== 'msg') throw new TypeError(`${INT64} is no message`);
    schema = definition.message;
  });
  afterAll(async () => {
    await graph?.stop();
    await peer?.stop();
  });

  const publish = (topic: string, data: number, on = graph) => {
    const cdr = encodeCdr(schema, fromJson(schema, { data }, 'payload'));
    return on.publish({ topic, type: INT64, cdr, latched: false, matchTimeoutMs: 1_000, joiningTimeoutMs: 5_000 });
  };

  it('reach a subscriber as the first of a fresh publisher, 100 times of 100', async () => {
    const topics = Array.from({ length: 100 }, (_, n) => `/fresh_${n}`);
    const subscriptions = await Promise.all(topics.map((topic) => peer.subscribe({ topic, type: INT64 })));
    for (const [n, topic] of topics.entries()) expect(await publish(topic, n)).toEqual({ matchedSubscribers: 1 });
    const received = await Promise.all(subscriptions.map((subscription) => subscription.next()));
    expect(received).toEqual(topics.map((_, data) => ({ data })));
  });

  it('are refused with the remedy where a stream has the topic as another type', async () => {
    const type = 'std_msgs/msg/String';
    const wrong = await graph.subscribe({ topic: '/taken', type, drainHz: 20, depth: 1, onMessage: () => {} });
    await expect(publish('/taken', 1)).rejects.toThrow('delete the stream of the other type');
    await wrong.close();
    expect(await publish('/taken', 1)).toEqual({ matchedSubscribers: 0 });
  });

  it('leave no publisher or client behind once they were not used for long enough', async () => {
    const brief = createRclnodejsGraph({ domainId: DOMAIN_ID, log: { warn() {} }, idleMs: 2_000 });
    await brief.start();
    const timeouts = { readyTimeoutMs: 5_000, timeoutMs: 5_000, acceptTimeoutMs: 5_000 };
    await Promise.all([
      peer.subscribe({ topic: '/idle/topic', type: INT64 }),
      peer.serveSetBool('/idle/service'),
      peer.serveFibonacci('/idle/action', { stepMs: 300 }),
    ]);
    const type = 'test_msgs/action/Fibonacci';
    const request = { ...timeouts, action: '/idle/action', type, goalId: randomBytes(16), goal: { order: 24 } };
    const goal = await brief.sendGoal({ ...request, onFeedback: () => {} });
    await brief.call({ ...timeouts, service: '/idle/service', type: 'std_srvs/srv/SetBool', request: { data: true } });
    expect(await peer.endpoints('/idle/service')).toMatchObject({ clients: 1 });
    await publish('/idle/topic', 1, brief);
    expect(await peer.endpoints('/idle/topic')).toMatchObject({ publishers: 1 });
    await expect.poll(() => peer.endpoints('/idle/topic'), { timeout: 10_000 }).toMatchObject({ publishers: 0 });
    await expect.poll(() => peer.endpoints('/idle/service'), { timeout: 10_000 }).toMatchObject({ clients: 0 });
    // A goal that runs keeps its client, however long ago it was sent.
    expect(await peer.endpoints('/idle/action/_action/feedback')).toMatchObject({ subscribers: 1 });
    expect(await goal.result).toMatchObject({ status: 'succeeded' });
    await expect
      .poll(() => peer.endpoints('/idle/action/_action/feedback'), { timeout: 10_000 })
      .toMatchObject({ subscribers: 0 });
    expect(await publish('/idle/topic', 2, brief)).toEqual({ matchedSubscribers: 1 });
    await brief.stop();
  });
});
