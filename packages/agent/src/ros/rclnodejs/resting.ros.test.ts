import { decodeCdr } from '@drover/shared/ros/cdr';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RosGraph } from '../graph.js';
import { type RclpyPeer, startRclpyPeer } from '../testing/rclpy-peer.js';
import { describeRos } from '../testing/ros.js';
import { GIVEN_BACK_BYTES_MIN } from './give-back.js';
import { createRclnodejsGraph } from './graph.js';

const DOMAIN_ID = 21;
const IMAGE = 'sensor_msgs/msg/Image';
/** Large enough for its memory to be given back. */
const data = Array.from({ length: GIVEN_BACK_BYTES_MIN }, () => 0);

describeRos('a subscription that rests', () => {
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

  // Its history reaches the reader that is made for it, which holds no more of it than the one that rested.
  it('hands over nothing twice, nor anything old after something new, given back at once, where a latched publisher takes over meanwhile', async () => {
    const topic = '/resting/latched';
    const definition = await graph.describe(IMAGE);
    if (definition.kind !== 'msg') throw new TypeError(`${IMAGE} is no message`);
    const steady = await peer.advertise({ topic, type: IMAGE });
    const received: number[] = [];
    let restMs = 0;
    let givenBack = 0;
    let rests = () => {};
    const subscription = await graph.subscribe({
      ...{ topic, type: IMAGE, drainHz: 20, depth: 5 },
      restMs: () => {
        if (restMs > 0) rests();
        return restMs;
      },
      onMessage: (cdr) => {
        received.push(Number(decodeCdr(definition.message, cdr).height));
        queueMicrotask(() => {
          subscription.release?.(cdr);
          if (cdr.byteLength === 0) givenBack += 1;
        });
      },
    });
    await steady.matched();
    await steady.repeat({ height: 0, data }, { count: 20, hz: 100, counter: 'height' });
    await expect.poll(() => received).toContain(20);
    restMs = 2000;
    await new Promise<void>((resolve) => {
      rests = resolve;
    });
    await steady.close();
    const latched = await peer.advertise({ topic, type: IMAGE, durability: 'transient_local', depth: 50 });
    await latched.matched();
    await latched.repeat({ height: 0, data }, { count: 40, hz: 100, counter: 'height', from: 21 });
    await expect.poll(() => received.includes(60), { timeout: 5000 }).toBe(true);
    await latched.repeat({ height: 0, data }, { count: 200, hz: 100, counter: 'height', from: 61 });
    await expect.poll(() => received.includes(260), { timeout: 5000 }).toBe(true);
    expect(subscription.sight().qos.transientLocal).toBe(true);
    expect(givenBack).toBeGreaterThan(0);
    const late = received.filter((n, at) => n < Math.max(...received.slice(0, at)));
    expect(late).toEqual([]);
    expect(received).toHaveLength(new Set(received).size);
  });
});
