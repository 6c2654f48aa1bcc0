import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RclpyPeer } from '../packages/agent/src/ros/testing/rclpy-peer.js';
import { describeRos } from '../packages/agent/src/ros/testing/ros.js';
import type { TestCloud } from './support/cloud.js';
import { type OnRos, startOnRos } from './support/on-ros.js';
import { addStream, statusPath, untilStatus } from './support/streams.js';

const ROS_DOMAIN_ID = 18;
const INT64 = 'std_msgs/msg/Int64';
const STRING = 'std_msgs/msg/String';
const IMAGE = 'sensor_msgs/msg/Image';

describeRos('why a stream records what it records, through the API, on real ROS 2', () => {
  let system: OnRos;
  let cloud: TestCloud;
  let peer: RclpyPeer;

  beforeAll(async () => {
    system = await startOnRos({ domainId: ROS_DOMAIN_ID });
    ({ cloud, peer } = system);
  });

  afterAll(async () => {
    await system?.stop();
  });

  it('a topic of another type is type_mismatch, and receiving once the right type is published', async () => {
    const wrong = await peer.advertise({ topic: '/chatter', type: INT64 });
    await addStream(cloud, '/chatter', STRING, 10);
    const status = await untilStatus(cloud, '/chatter', (now) => now.state === 'type_mismatch');
    expect(status.message).toMatch(/\/chatter is published as std_msgs\/msg\/Int64, not as std_msgs\/msg\/String/);
    // A process can have one type of a topic only, with Fast DDS.
    await wrong.close();
    const right = await peer.advertise({ topic: '/chatter', type: STRING });
    await right.matched();
    await right.publish({ data: 'at last' });
    const receiving = await untilStatus(cloud, '/chatter', (now) => now.state === 'receiving');
    expect(receiving).toMatchObject({ publishers: 1, message: null });
  });

  it('nobody publishes: no_publisher; an unknown type: unknown_type', async () => {
    await addStream(cloud, '/nobody', STRING, 10);
    await addStream(cloud, '/strange', 'no_such_msgs/msg/Nothing', 10);
    await untilStatus(cloud, '/nobody', (now) => now.state === 'no_publisher');
    await untilStatus(cloud, '/strange', (now) => now.state === 'unknown_type');
    const publisher = await peer.advertise({ topic: '/nobody', type: STRING, reliability: 'best_effort' });
    await untilStatus(cloud, '/nobody', (now) => now.state === 'waiting' && now.publishers === 1);
    await publisher.close();
    await untilStatus(cloud, '/nobody', (now) => now.state === 'no_publisher' && now.publishers === 0);
  });

  it('a publisher that comes back with another QoS is recorded on', async () => {
    await addStream(cloud, '/changing', INT64, 50);
    const changes = [
      { reliability: 'reliable' },
      { reliability: 'best_effort' },
      { reliability: 'reliable', durability: 'transient_local' },
      { reliability: 'best_effort' },
    ] as const;
    const recorded = async () =>
      (await cloud.get<{ payload: { data: number } }[]>('/robots/rover-1/data?source=/changing&limit=1000')).map(
        ({ payload }) => payload.data,
      );
    let n = 0;
    for (const qos of changes) {
      const publisher = await peer.advertise({ topic: '/changing', type: INT64, ...qos });
      const first = n + 1;
      await expect
        .poll(
          async () => {
            n += 1;
            await publisher.publish({ data: n });
            return Math.max(0, ...(await recorded()));
          },
          { timeout: 10_000, interval: 100 },
        )
        .toBeGreaterThanOrEqual(first);
      await publisher.close();
    }
    const all = await recorded();
    expect(all).toHaveLength(new Set(all).size);
    expect(await untilStatus(cloud, '/changing', () => true)).toMatchObject({ drops: [] });
  });

  it('an Image below the bound is recorded whole, one above it dropped and counted', async () => {
    await addStream(cloud, '/camera', IMAGE, 10);
    await cloud.call('PATCH', statusPath('/camera', 'options'), { max_message_bytes: 1_000_000 });
    const camera = await peer.advertise({ topic: '/camera', type: IMAGE, depth: 5 });
    await camera.matched();
    const image = (width: number, height: number) => ({
      header: { frame_id: 'camera' },
      ...{ width, height, encoding: 'mono8', step: width },
      data: Buffer.alloc(width * height, 7).toString('base64'),
    });
    await camera.publish(image(1200, 1000));
    await camera.publish(image(900, 1000));
    const status = await untilStatus(cloud, '/camera', (now) => now.drops.length > 0);
    expect(status.drops).toEqual([{ reason: 'too_large', rows: 1, bytes: expect.any(Number) }]);
    expect(status.drops[0]?.bytes).toBeGreaterThan(1_200_000);
    interface Point {
      payload: { width: number; data: string };
    }
    const points = await cloud.until<Point[]>('/robots/rover-1/data?source=/camera', (all) => all.length > 0);
    expect(points.map(({ payload }) => payload.width)).toEqual([900]);
    expect(Buffer.from(points[0]?.payload.data ?? '', 'base64').equals(Buffer.alloc(900_000, 7))).toBe(true);
    // Beyond what the bound was at first, by default; published until the robot has heard of the new one.
    await cloud.call('PATCH', statusPath('/camera', 'options'), { max_message_bytes: 16 * 1024 * 1024 });
    const recordings = async () => {
      const streams = await cloud.get<{ source: string; num_recordings: number }[]>('/robots/rover-1/streams');
      return streams.find(({ source }) => source === '/camera')?.num_recordings ?? 0;
    };
    await expect
      .poll(
        async () => {
          await camera.publish(image(3000, 2800));
          return recordings();
        },
        { timeout: 25_000, interval: 1000 },
      )
      .toBeGreaterThan(1);
    const [large] = await cloud.get<Point[]>('/robots/rover-1/data?source=/camera&limit=1');
    expect(large?.payload.width).toBe(3000);
  }, 60_000);
});
