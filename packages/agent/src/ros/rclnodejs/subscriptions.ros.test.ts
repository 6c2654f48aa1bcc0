import { decodeCdr } from '@drover/shared/ros/cdr';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RosGraph } from '../graph.js';
import { type RclpyPeer, startRclpyPeer } from '../testing/rclpy-peer.js';
import { describeRos } from '../testing/ros.js';
import { createRclnodejsGraph } from './graph.js';

const DOMAIN_ID = 13;
const INT64 = 'std_msgs/msg/Int64';

describeRos('a subscription whose publishers change', () => {
  let graph: RosGraph;
  let peer: RclpyPeer;

  beforeAll(async () => {
    process.env.ROS_AUTOMATIC_DISCOVERY_RANGE = 'LOCALHOST';
    peer = await startRclpyPeer({ domainId: DOMAIN_ID });
    graph = createRclnodejsGraph({ domainId: DOMAIN_ID, log: { warn() {} } });
    await graph.start();
  });
  afterAll(async () => {
    await graph?.stop();
    await peer?.stop();
  });

  const subscribe = async (topic: string): Promise<number[]> => {
    const definition = await graph.describe(INT64);
    if (definition.kind !== 'msg') throw new TypeError(`${INT64} is no message`);
    const received: number[] = [];
    await graph.subscribe({
      topic,
      type: INT64,
      drainHz: 20,
      depth: 50,
      onMessage: (cdr) => received.push(Number(decodeCdr(definition.message, cdr).data)),
    });
    return received;
  };
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

  it('hands over each message once when a best-effort publisher joins a reliable one, and when it leaves', async () => {
    const topic = '/changing/reliability';
    const steady = await peer.advertise({ topic, type: INT64, depth: 50 });
    const received = await subscribe(topic);
    await steady.matched();
    const sent = steady.repeat({ data: 0 }, { count: 700, hz: 100, counter: 'data' });
    await expect.poll(() => received.length).toBeGreaterThan(50);
    const joining = await peer.advertise({ topic, type: INT64, reliability: 'best_effort' });
    // Heard only once the subscription has followed it.
    await joining.matched();
    await joining.publish({ data: -1 });
    await expect.poll(() => received.includes(-1), { timeout: 5000 }).toBe(true);
    await joining.close();
    await sent;
    await expect.poll(() => received.at(-1)).toBe(700);
    expect(received.filter((data) => data > 0)).toEqual(upTo(700));
  });

  it('takes the newest few messages after each rest of its subscriber, and nothing meanwhile', async () => {
    const topic = '/changing/resting';
    const steady = await peer.advertise({ topic, type: INT64, depth: 50 });
    const definition = await graph.describe(INT64);
    if (definition.kind !== 'msg') throw new TypeError(`${INT64} is no message`);
    const received: number[] = [];
    await graph.subscribe({
      ...{ topic, type: INT64, drainHz: 20, depth: 5, restMs: () => 500 },
      onMessage: (cdr) => received.push(Number(decodeCdr(definition.message, cdr).data)),
    });
    await steady.matched();
    await steady.repeat({ data: 0 }, { count: 300, hz: 100, counter: 'data' });
    await expect.poll(() => received.at(-1)).toBe(300);
    expect(received.length).toBeLessThan(100);
    expect(received).toEqual([...received].sort((a, b) => a - b));
  });

  it('gives back the memory of a large message that is of no use to a subscriber who rests', async () => {
    const topic = '/changing/large';
    const type = 'std_msgs/msg/String';
    const data = 'x'.repeat(200_000);
    const steady = await peer.advertise({ topic, type, depth: 50 });
    const received: { bytes: number; left: number }[] = [];
    const subscription = await graph.subscribe({
      ...{ topic, type, drainHz: 20, depth: 5, restMs: () => 100 },
      onMessage: (cdr) => {
        const bytes = cdr.byteLength;
        subscription.release?.(cdr);
        received.push({ bytes, left: cdr.byteLength });
      },
    });
    await steady.matched();
    await steady.repeat({ data }, { count: 50, hz: 50 });
    await expect.poll(() => received.at(-1)?.left).toBe(0);
    for (const { bytes } of received) expect(bytes).toBeGreaterThan(data.length);
  });

  it('hands over each message once of a latched publisher that comes after it', async () => {
    const topic = '/changing/durability';
    const received = await subscribe(topic);
    const latched = await peer.advertise({ topic, type: INT64, durability: 'transient_local', depth: 50 });
    await latched.repeat({ data: 0 }, { count: 300, hz: 100, counter: 'data' });
    await expect.poll(() => received.length).toBeGreaterThanOrEqual(300);
    // What it sent before it was heard comes with its history, after what was heard at once.
    expect(received.sort((a, b) => a - b)).toEqual(upTo(300));
  });

  it('hears a publisher again that was restarted', async () => {
    const topic = '/changing/restarted';
    const first = await peer.advertise({ topic, type: INT64 });
    const received = await subscribe(topic);
    await first.matched();
    await first.publish({ data: 1 });
    await first.close();
    const second = await peer.advertise({ topic, type: INT64 });
    await second.matched();
    await second.publish({ data: 2 });
    await expect.poll(() => received).toEqual([1, 2]);
  });
});
