import { expect, it, onTestFinished, vi } from 'vitest';
import type { SubscribeRequest } from '../ros/graph.js';
import { Collector, DRAIN_HZ_MIN } from './collector.js';
import { setUpCollecting, stream } from './fixture.js';

const DRAIN_MS = 1000 / DRAIN_HZ_MIN;

/** A topic published at a steady rate and a graph that drains it, by a clock of their own; the publisher falls silent at `untilMs`. */
async function sampled({ hz, publishedHz, untilMs = 60_000 }: { hz: number; publishedHz: number; untilMs?: number }) {
  const { deps, points, drops } = await setUpCollecting();
  const released = new Set<Uint8Array>();
  let nowMs = 0;
  const request = await new Promise<SubscribeRequest>((resolve) => {
    vi.spyOn(deps.graph, 'subscribe').mockImplementation(async (asked) => {
      resolve(asked);
      const sight = { publishers: 1, unheard: 0, otherTypes: [], problem: null };
      const qos = { reliable: true, transientLocal: false };
      const release = (cdr: Uint8Array) => void released.add(cdr);
      return { publisher: () => null, sight: () => ({ ...sight, qos }), release, close: async () => {} };
    });
    const clocks = { monotonicNow: () => nowMs, wallNow: () => nowMs };
    const collector = new Collector(stream({ hz, source: '/fast' }), { ...deps, ...clocks });
    collectorOf.set(deps, collector);
    onTestFinished(() => collector.stop());
    collector.start();
  });
  await vi.waitFor(() => expect(collectorOf.get(deps)?.view.sight).not.toBeNull());
  let [handed, taken, drains] = [0, 0, 0];
  let pausedMs = 0;
  /** Of what was published no more is there at the next drain. */
  let hold = Number.POSITIVE_INFINITY;
  const drain = async () => {
    drains += 1;
    const publishingMs = pausedMs > 0 ? nowMs - pausedMs : Math.min(nowMs, untilMs);
    const published = Math.min(handed + hold, Math.floor((publishingMs * publishedHz) / 1000));
    for (let n = Math.max(handed, published - request.depth); n < published; n += 1) {
      taken += 1;
      const cdr = new Uint8Array(12);
      // When it was published.
      new DataView(cdr.buffer).setFloat64(4, ((n + 1) * 1000) / publishedHz, true);
      request.onMessage(cdr);
    }
    handed = published;
    await Promise.resolve();
    // As it takes time to look at them.
    nowMs += 0.25;
  };
  return {
    run: async (ms: number) => {
      const endMs = nowMs + ms;
      while (nowMs < endMs) {
        nowMs += request.restMs?.() || DRAIN_MS;
        await drain();
      }
    },
    /** The process stands still; ROS does not. */
    stall: async (ms: number) => {
      nowMs += ms;
      await drain();
    },
    looked: () => void request.restMs?.(),
    /** The same, and what came meanwhile is there in two pieces. */
    stopPiecewise: async (ms: number, first: number) => {
      const endMs = nowMs + ms;
      hold = first;
      nowMs = endMs;
      await drain();
      request.restMs?.();
      hold = Number.POSITIVE_INFINITY;
      nowMs += 10;
      await drain();
    },
    /** The whole process stands still, ROS's threads in it too: what came meanwhile is there some time after the first look. */
    stop: async (ms: number, lateMs: number) => {
      nowMs += ms;
      request.restMs?.();
      nowMs += lateMs;
      await drain();
    },
    goOn: () => {
      pausedMs = nowMs - untilMs;
    },
    overrun: () => drops.filter(({ reason }) => reason === 'overrun').reduce((sum, { rows }) => sum + rows, 0),
    periodsKept: (fromMs: number, toMs: number) =>
      new Set(
        points('/fast')
          .filter(({ robotStampMs }) => robotStampMs >= fromMs && robotStampMs < toMs)
          .map(({ robotStampMs }) => Math.floor((robotStampMs * hz) / 1000)),
      ).size,
    counts: () => ({ taken, drains, kept: points('/fast').length, released: released.size }),
    keptReleased: () => points('/fast').filter(({ cdr }) => released.has(cdr)),
    received: () => collectorOf.get(deps)?.view.received ?? 0,
    stampErrorsMs: () =>
      points('/fast').map(({ robotStampMs, cdr }) =>
        Math.abs(robotStampMs - new DataView(cdr.buffer, cdr.byteOffset).getFloat64(4, true)),
      ),
  };
}

const collectorOf = new WeakMap<object, Collector>();

it.each([
  { hz: 1, publishedHz: 1000, drainsOfOne: 1.5, takenOfOne: 8 },
  { hz: 1, publishedHz: 100, drainsOfOne: 1.5, takenOfOne: 8 },
  { hz: 1, publishedHz: 30, drainsOfOne: 1.5, takenOfOne: 6 },
  { hz: 1, publishedHz: 10, drainsOfOne: 6, takenOfOne: 8 },
  { hz: 10, publishedHz: 1000, drainsOfOne: 1.1, takenOfOne: 11 },
  { hz: 10, publishedHz: 100, drainsOfOne: 1.1, takenOfOne: 10.5 },
  { hz: 10, publishedHz: 30, drainsOfOne: 1.1, takenOfOne: 3.2 },
])(
  'keeps $hz a second of $publishedHz Hz, none missing, in hardly more drains',
  async ({ hz, publishedHz, drainsOfOne, takenOfOne }) => {
    const topic = await sampled({ hz, publishedHz });
    await topic.run(5_000);
    const before = topic.counts();
    await topic.run(20_000);
    const { taken, drains, kept } = topic.counts();
    const samples = 20 * hz;
    expect(kept - before.kept).toBeGreaterThanOrEqual(samples - 1);
    expect(kept - before.kept).toBeLessThanOrEqual(samples + 1);
    expect((drains - before.drains) / samples).toBeLessThanOrEqual(drainsOfOne);
    expect((taken - before.taken) / samples).toBeLessThanOrEqual(takenOfOne);
  },
);

it.each([1000, 30, 10])('stamps what it keeps of %d Hz as exactly as if it took everything', async (publishedHz) => {
  const topic = await sampled({ hz: 1, publishedHz });
  await topic.run(20_000);
  expect(Math.max(...topic.stampErrorsMs())).toBeLessThanOrEqual(DRAIN_MS);
});

it('tells what came by its rate, and what it left alone with it', async () => {
  const topic = await sampled({ hz: 1, publishedHz: 30 });
  await topic.run(20_000);
  expect(topic.received() / 20).toBeGreaterThan(25);
  expect(topic.received() / 20).toBeLessThan(35);
});

it('keeps one of each period that ROS still has messages of, where it stood still', async () => {
  const topic = await sampled({ hz: 10, publishedHz: 30 });
  await topic.run(10_000);
  await topic.stall(400);
  await topic.run(1_000);
  expect(topic.periodsKept(10_100, 11_300)).toBeGreaterThanOrEqual(11);
});

it.each([
  { hz: 10, publishedHz: 30, stallMs: 700 },
  { hz: 10, publishedHz: 30, stallMs: 2_500 },
  { hz: 10, publishedHz: 10, stallMs: 1_000 },
  { hz: 10, publishedHz: 10, stallMs: 3_000 },
  { hz: 10, publishedHz: 1000, stallMs: 2_000 },
  { hz: 1, publishedHz: 30, stallMs: 20_000 },
])(
  'counts what it can not keep of $publishedHz Hz where it stands still for $stallMs ms',
  async ({ hz, publishedHz, stallMs }) => {
    const topic = await sampled({ hz, publishedHz });
    await topic.run(10_000);
    const before = topic.counts().kept;
    await topic.stall(stallMs);
    await topic.run(10_000);
    const samples = ((stallMs + 10_000) * hz) / 1000;
    const { kept } = topic.counts();
    expect(kept - before + topic.overrun()).toBeGreaterThanOrEqual(samples - 2);
    expect(kept - before + topic.overrun()).toBeLessThanOrEqual(samples + 2);
  },
);

it.each([10, 30, 60, 200])(
  'keeps what came while the process was stopped, also where it is there only %d ms after that',
  async (lateMs) => {
    const topic = await sampled({ hz: 20, publishedHz: 20 });
    await topic.run(10_000);
    const before = topic.counts();
    await topic.stop(500, lateMs);
    await topic.run(1_000);
    const { taken, kept } = topic.counts();
    expect(taken - before.taken).toBeGreaterThanOrEqual(30);
    expect(kept - before.kept).toBeGreaterThanOrEqual(taken - before.taken - 1);
    expect(Math.max(...topic.stampErrorsMs())).toBeLessThanOrEqual(2 * DRAIN_MS);
  },
);

it('keeps what came while the process was stopped, also where it is there in two pieces', async () => {
  const topic = await sampled({ hz: 20, publishedHz: 20 });
  await topic.run(10_000);
  const before = topic.counts();
  await topic.stopPiecewise(900, 3);
  await topic.run(3_000);
  const { taken, kept } = topic.counts();
  expect(taken - before.taken).toBeGreaterThanOrEqual(77);
  expect(kept - before.kept).toBeGreaterThanOrEqual(taken - before.taken - 1);
});

it('keeps no more of a faster topic after the process was stopped', async () => {
  const topic = await sampled({ hz: 5, publishedHz: 15 });
  await topic.run(10_000);
  const before = topic.counts().kept;
  await topic.stopPiecewise(900, 1);
  await topic.run(3_000);
  // What 3.9 s take, and the burst.
  expect(topic.counts().kept - before).toBeLessThanOrEqual(21);
});

it('counts each stall by itself where one follows another', async () => {
  const topic = await sampled({ hz: 20, publishedHz: 20 });
  await topic.run(10_000);
  const before = topic.counts().kept;
  for (const ms of [1_500, 1_000]) {
    await topic.stall(ms);
    topic.looked();
  }
  await topic.run(2_000);
  const kept = topic.counts().kept - before;
  expect(topic.overrun()).toBeGreaterThan(0);
  expect(kept + topic.overrun()).toBeGreaterThanOrEqual(88);
  expect(kept + topic.overrun()).toBeLessThanOrEqual(92);
});

it('counts what ROS had no room for while the process was stopped, also where the rest is there late', async () => {
  const topic = await sampled({ hz: 20, publishedHz: 20 });
  await topic.run(10_000);
  const before = topic.counts();
  await topic.stop(3_000, 60);
  await topic.run(1_000);
  const kept = topic.counts().kept - before.kept;
  expect(kept + topic.overrun()).toBeGreaterThanOrEqual(79);
  expect(kept + topic.overrun()).toBeLessThanOrEqual(83);
});

it.each([1000, 30, 10])(
  'counts nothing as lost of %d Hz where it keeps up, nor of a publisher that pauses',
  async (publishedHz) => {
    const topic = await sampled({ hz: 10, publishedHz, untilMs: 10_000 });
    await topic.run(20_000);
    topic.goOn();
    await topic.run(10_000);
    expect(topic.overrun()).toBe(0);
  },
);

it('drains a topic that is little faster than what is kept all the time', async () => {
  const topic = await sampled({ hz: 1, publishedHz: 3 });
  await topic.run(10_000);
  expect(topic.counts().drains).toBe(200);
});

it('keeps the last message of a publisher that falls silent', async () => {
  const topic = await sampled({ hz: 1, publishedHz: 30, untilMs: 10_400 });
  await topic.run(13_000);
  expect(topic.counts().kept).toBeGreaterThanOrEqual(11);
});

it('tells when the last message of a publisher came that falls silent while its topic is left alone', async () => {
  // Early enough for all of its last messages to be there still.
  const topic = await sampled({ hz: 1, publishedHz: 30, untilMs: 10_150 });
  await topic.run(13_000);
  expect(Math.max(...topic.stampErrorsMs())).toBeLessThanOrEqual(DRAIN_MS);
});

it('notices a topic that slows down while it is left alone', async () => {
  const topic = await sampled({ hz: 1, publishedHz: 100, untilMs: 10_000 });
  await topic.run(20_000);
  expect(topic.received()).toBeLessThan(1_100);
});

it.each([
  { hz: 1, publishedHz: 1000 },
  { hz: 1, publishedHz: 10 },
  { hz: 10, publishedHz: 30 },
])('gives back whatever it does not keep at $hz a second of $publishedHz Hz', async (rates) => {
  const topic = await sampled(rates);
  await topic.run(20_000);
  const { taken, kept, released } = topic.counts();
  expect(topic.keptReleased()).toEqual([]);
  // But for one that may wait for its time.
  expect(taken - kept - released).toBeLessThanOrEqual(1);
});
