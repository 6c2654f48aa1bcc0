import { describe, expect, it, onTestFinished } from 'vitest';
import { NameResolver } from '../ros/name-resolution.js';
import { setUpCollecting, stream } from './fixture.js';
import { StreamReporter } from './stream-reporter.js';
import { Streams } from './streams.js';

const INT64 = 'std_msgs/msg/Int64';

async function setUp(names?: NameResolver) {
  const parts = await setUpCollecting(names);
  const streams = new Streams(parts.deps);
  onTestFinished(() => streams.stop());
  return { ...parts, streams };
}

describe('a stream', () => {
  it('keeps every message of a publisher no faster than its rate, with stamp, type, definition and publisher', async () => {
    const { streams, peer, points, messages, until } = await setUp();
    streams.apply([stream({ hz: 100 })]);
    const publisher = await peer.advertise({ topic: '/counter', type: INT64 });
    await publisher.matched();
    const from = Date.now();
    for (let n = 0; n < 20; n += 1) {
      await publisher.publish({ data: n });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await until(() => points('/counter').length >= 20);
    expect((await messages('/counter')).map(({ data }) => data)).toEqual(
      Array.from({ length: 20 }, (_, n) => BigInt(n)),
    );
    const [first] = points('/counter');
    expect(first).toMatchObject({
      type: INT64,
      publisher: '/peer',
      schema: { hash: expect.stringMatching(/^\w{64}$/) },
    });
    expect(first?.schema.text).toContain('int64 data');
    expect(first?.robotStampMs).toBeGreaterThan(from - 100);
  });

  it('keeps its rate of a faster publisher', async () => {
    const { streams, peer, points, until } = await setUp();
    streams.apply([stream({ hz: 5 })]);
    const publisher = await peer.advertise({ topic: '/counter', type: INT64 });
    await publisher.matched();
    const from = performance.now();
    await publisher.repeat({ data: 1 }, { count: 150, hz: 50 });
    // 3 s, or what a busy machine makes of it.
    const wanted = (5 * (performance.now() - from)) / 1000;
    const kept = points('/counter').length;
    expect(kept).toBeGreaterThanOrEqual(14);
    expect(kept).toBeLessThanOrEqual(wanted + 2);
    await until(() => points('/counter').length >= 15);
  });

  it('keeps the last message even if none follows it', async () => {
    const { streams, peer, messages, points, until } = await setUp();
    streams.apply([stream({ hz: 2 })]);
    const publisher = await peer.advertise({ topic: '/counter', type: INT64 });
    await publisher.matched();
    await publisher.publish({ data: 1 });
    await publisher.publish({ data: 2 });
    await until(() => points('/counter').length === 2);
    expect(await messages('/counter')).toEqual([{ data: 1n }, { data: 2n }]);
  });

  it('loses nothing to an event loop that stood still', async () => {
    const { streams, peer, messages, points, until } = await setUp();
    streams.apply([stream({ hz: 50 })]);
    const publisher = await peer.advertise({ topic: '/counter', type: INT64 });
    await publisher.matched();
    await publisher.publish({ data: 0 });
    await until(() => points('/counter').length === 1);
    // What a publisher in another process sends meanwhile waits in ROS, and comes in one drain.
    const until400 = performance.now() + 400;
    while (performance.now() < until400);
    for (let n = 1; n <= 20; n += 1) void publisher.publish({ data: n });
    await until(() => points('/counter').length === 21);
    expect((await messages('/counter')).map(({ data }) => Number(data))).toEqual(
      Array.from({ length: 21 }, (_, n) => n),
    );
  });

  it('drops a message over its bound, counted, and goes on', async () => {
    const { streams, peer, drops, points, until } = await setUp();
    streams.apply([stream({ source: '/text', type: 'std_msgs/msg/String', max_message_bytes: 100 })]);
    const publisher = await peer.advertise({ topic: '/text', type: 'std_msgs/msg/String' });
    await publisher.matched();
    await publisher.publish({ data: 'x'.repeat(200) });
    await publisher.publish({ data: 'y' });
    await until(() => points('/text').length === 1);
    expect(drops).toMatchObject([{ source: '/text', reason: 'too_large', rows: 1 }]);
  });

  it('on a remapped topic is read where the remap leads, and kept under its own name', async () => {
    const names = new NameResolver('/r1', [{ from: '/counter', to: 'wheel/counter' }]);
    const { streams, peer, points, until } = await setUp(names);
    streams.apply([stream()]);
    const publisher = await peer.advertise({ topic: '/r1/wheel/counter', type: INT64 });
    await publisher.matched();
    await publisher.publish({ data: 1 });
    await until(() => points('/counter').length === 1);
    expect(points('/counter')[0]).toMatchObject({ source: '/counter', publisher: '/peer' });
  });

  it('on a remapped topic that nobody publishes names both in its status', async () => {
    const { streams } = await setUp(new NameResolver('/', [{ from: '/counter', to: '/wheel/counter' }]));
    streams.apply([stream()]);
    let nowMs = 0;
    const reporter = new StreamReporter({
      streams: () => streams.watched,
      drops: () => [],
      spoolId: () => '',
      monotonicNow: () => nowMs,
    });
    const told: string[] = [];
    reporter.opened({ send: ({ streams: [report] }) => void told.push(report?.message ?? '') });
    await expect.poll(() => streams.watched[0]?.view?.sight).toBeTruthy();
    for (nowMs of [1_000, 10_000]) reporter.look();
    expect(told.at(-1)).toContain('publishes /wheel/counter (as which /counter is resolved here): start');
  });

  it('on a type the robot does not know records nothing and harms no other', async () => {
    const { streams, peer, points, until } = await setUp();
    streams.apply([stream({ source: '/strange', type: 'no_such_msgs/msg/Nothing' }), stream()]);
    const publisher = await peer.advertise({ topic: '/counter', type: INT64 });
    await publisher.matched();
    await publisher.publish({ data: 1 });
    await until(() => points('/counter').length === 1);
    expect(streams.sources).toEqual(['/strange', '/counter']);
  });
});

describe('applying', () => {
  it('stops what is gone or disabled and starts what is new, leaving the others alone', async () => {
    const { streams, peer, points, until } = await setUp();
    const publishers = await Promise.all(['/a', '/b', '/c'].map((topic) => peer.advertise({ topic, type: INT64 })));
    streams.apply([stream({ source: '/a' }), stream({ source: '/b' })]);
    await Promise.all([publishers[0]?.matched(), publishers[1]?.matched()]);
    streams.apply([stream({ source: '/a' }), stream({ source: '/b', enabled: false }), stream({ source: '/c' })]);
    await publishers[2]?.matched();
    for (const publisher of publishers) await publisher.publish({ data: 1 });
    await until(() => points('/a').length === 1 && points('/c').length === 1);
    expect(points('/b')).toEqual([]);
    expect(streams.sources).toEqual(['/a', '/c']);
  });

  it('takes another size bound without a new subscription', async () => {
    const { streams, peer, drops, points, until } = await setUp();
    const text = stream({ source: '/text', type: 'std_msgs/msg/String' });
    streams.apply([text]);
    const publisher = await peer.advertise({ topic: '/text', type: 'std_msgs/msg/String' });
    await publisher.matched();
    await publisher.publish({ data: 'x'.repeat(200) });
    await until(() => points('/text').length === 1);
    const since = streams.watched[0]?.view?.firstWallMs;
    streams.apply([{ ...text, max_message_bytes: 100 }]);
    await publisher.publish({ data: 'x'.repeat(200) });
    await until(() => drops.length === 1);
    expect(points('/text')).toHaveLength(1);
    expect(streams.watched[0]?.view).toMatchObject({ received: 2, firstWallMs: since });
  });

  it('ends in the last wanted state, however fast the wishes change', async () => {
    const { streams, peer, points, until } = await setUp();
    for (let hz = 1; hz <= 50; hz += 1) streams.apply(hz % 3 === 0 ? [] : [stream({ hz })]);
    const publisher = await peer.advertise({ topic: '/counter', type: INT64 });
    await publisher.matched();
    await publisher.repeat({ data: 1 }, { count: 10, hz: 40 });
    await until(() => points('/counter').length === 10);
    await streams.stop();
    await publisher.publish({ data: 2 });
    expect(points('/counter')).toHaveLength(10);
  });
});
