import { upMessage } from '@drover/shared/link/up';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { DROPPING_MS } from './dropping.js';
import { setUpCollecting, stream } from './fixture.js';
import {
  AGAIN_MS,
  COUNTERS_MS,
  LOOK_MS,
  STEADY_LOOK_MS,
  StreamReporter,
  type WatchedStream,
} from './stream-reporter.js';
import type { TapView } from './stream-state.js';
import { Streams } from './streams.js';

const SPOOL = '0194b6b0-3b1a-7cc0-8d7f-000000000002';
const INT64 = 'std_msgs/msg/Int64';
const view = (overrides: Partial<TapView> = {}): TapView => ({
  topic: '/a',
  failure: null,
  sight: {
    publishers: 1,
    unheard: 0,
    otherTypes: [],
    qos: { reliable: true, transientLocal: false },
    problem: null,
  },
  received: 0,
  firstWallMs: null,
  lastWallMs: null,
  ...overrides,
});
const watched = (source: string, tap: TapView | null): WatchedStream => ({ source, type: INT64, view: tap });

describe('the reporter', () => {
  let nowMs: number;
  let streams: WatchedStream[];
  let drops: { source: string; reason: 'too_large'; rows: number; bytes: number }[];
  let sent: { sources: string[]; key: string | null }[];
  let texts: Map<string, string | null>;
  let reporter: StreamReporter;
  const uplink = {
    send: (message: unknown, key: string | null = null) => {
      const parsed = upMessage.parse(message);
      if (parsed.kind !== 'stream_status') throw new TypeError(parsed.kind);
      for (const { source, message: text } of parsed.streams) texts.set(source, text);
      sent.push({ sources: parsed.streams.map(({ source }) => source), key });
    },
  };
  const taken = () => sent.splice(0).map(({ sources }) => sources);

  beforeEach(() => {
    nowMs = 0;
    sent = [];
    drops = [];
    texts = new Map();
    streams = [watched('/a', view()), watched('/b', null)];
    reporter = new StreamReporter({
      streams: () => streams,
      drops: () => drops,
      spoolId: () => SPOOL,
      monotonicNow: () => nowMs,
    });
  });

  it('looks once a second where all streams receive or are off, and four times where one waits or they were just set', () => {
    vi.useFakeTimers();
    onTestFinished(() => {
      reporter.stop();
      vi.useRealTimers();
    });
    let looks = 0;
    reporter = new StreamReporter({
      ...{ drops: () => drops, spoolId: () => SPOOL, monotonicNow: () => nowMs },
      streams: () => {
        looks += 1;
        return streams;
      },
    });
    const looksIn = (ms: number) => {
      const before = looks;
      vi.advanceTimersByTime(ms);
      return looks - before;
    };
    reporter.start();
    expect(looksIn(10_000)).toBe(10_000 / LOOK_MS);
    streams = [watched('/a', view({ received: 1 })), watched('/b', null)];
    looksIn(LOOK_MS);
    expect(looksIn(10_000)).toBe(10_000 / STEADY_LOOK_MS);
    reporter.streamsSet();
    expect(looksIn(LOOK_MS)).toBe(1);
  });

  it('tells everything when a session opens, and then nothing until something changes', () => {
    reporter.look();
    expect(taken()).toEqual([]);
    reporter.opened(uplink);
    expect(taken()).toEqual([['/a', '/b']]);
    nowMs += COUNTERS_MS / 2;
    reporter.look();
    expect(taken()).toEqual([]);
  });

  it('tells a change of state at the next look, and that stream only, in place of its word that still waits', () => {
    reporter.opened(uplink);
    taken();
    streams = [watched('/a', view({ received: 1, firstWallMs: 5, lastWallMs: 5 })), watched('/b', null)];
    reporter.look();
    expect(sent).toEqual([{ sources: ['/a'], key: 'stream_status /a' }]);
  });

  it('tells counters every five seconds at most', () => {
    reporter.opened(uplink);
    streams = [watched('/a', view({ received: 1, lastWallMs: 5 }))];
    reporter.look();
    taken();
    let told = 0;
    for (let received = 2; received <= 101; received += 1) {
      nowMs += 200;
      streams = [watched('/a', view({ received, lastWallMs: nowMs }))];
      reporter.look();
      told += taken().length;
    }
    expect(told).toBe(20_000 / COUNTERS_MS);
  });

  it('tells all again where streams were set anew: the cloud may have forgotten what it knew of one', () => {
    reporter.opened(uplink);
    taken();
    // Deleted and created again between two looks, the stream is the same here.
    reporter.streamsSet();
    reporter.look();
    expect(taken()).toEqual([['/a'], ['/b']]);
    reporter.look();
    expect(taken()).toEqual([]);
  });

  it('tells each again from time to time, should the cloud have failed to keep it', () => {
    reporter.opened(uplink);
    nowMs += COUNTERS_MS;
    reporter.look();
    taken();
    nowMs += AGAIN_MS;
    reporter.look();
    expect(taken()).toEqual([['/a'], ['/b']]);
  });

  it('tells what was dropped since', () => {
    reporter.opened(uplink);
    taken();
    drops = [{ source: '/a', reason: 'too_large', rows: 1, bytes: 10 }];
    nowMs += COUNTERS_MS;
    reporter.look();
    // The rate of /a is known by now, and /b has not changed.
    expect(taken()).toEqual([['/a']]);
  });

  it('says that messages are dropped for their size, with the remedy, until a minute has passed without', () => {
    const big = (rows: number) => [{ source: '/a', reason: 'too_large' as const, rows, bytes: rows }];
    const readAgain = () => {
      nowMs += COUNTERS_MS;
      reporter.look();
      return texts.get('/a') ?? null;
    };
    streams = [watched('/a', view({ received: 1 }))];
    drops = big(7);
    reporter.opened(uplink);
    // Of a time before this agent: nobody knows when.
    expect(readAgain()).toBeNull();
    drops = big(8);
    expect(readAgain()).toContain('raise max_message_bytes');
    nowMs += DROPPING_MS - 2 * COUNTERS_MS;
    expect(readAgain()).toContain('raise max_message_bytes');
    expect(readAgain()).toBeNull();
  });

  it('tells everything again to the next session, nothing between two', () => {
    reporter.opened(uplink);
    reporter.closed();
    taken();
    streams = [watched('/a', view({ received: 1 }))];
    reporter.look();
    expect(taken()).toEqual([]);
    reporter.opened(uplink);
    expect(taken()).toEqual([['/a']]);
  });

  it('puts at most 200 streams in a message', () => {
    streams = Array.from({ length: 450 }, (_, n) => watched(`/s${n}`, null));
    reporter.opened(uplink);
    expect(taken().map(({ length }) => length)).toEqual([200, 200, 50]);
  });
});

it('tells the rate before sampling, the newest message and the publishers of a real stream', async () => {
  const { peer, deps, points, until } = await setUpCollecting();
  const streams = new Streams(deps);
  onTestFinished(() => streams.stop());
  streams.apply([stream({ hz: 1 }), stream({ source: '/off', enabled: false })]);
  const reporter = new StreamReporter({
    streams: () => streams.watched,
    drops: () => [],
    spoolId: () => SPOOL,
    ...deps,
  });
  const publisher = await peer.advertise({ topic: '/counter', type: INT64 });
  await publisher.matched();
  reporter.look();
  await publisher.repeat({ data: 1 }, { count: 75, hz: 50 });
  await until(() => points('/counter').length > 0);
  const reports: unknown[] = [];
  reporter.opened({ send: (message) => reports.push(...message.streams) });
  expect(reports).toEqual([
    expect.objectContaining({
      source: '/counter',
      state: 'receiving',
      publishers: 1,
      receiving_since_robot_ms: expect.any(Number),
      last_message_robot_ms: expect.any(Number),
      rate_hz: expect.any(Number),
    }),
    expect.objectContaining({ source: '/off', state: 'disabled', publishers: 0, rate_hz: null }),
  ]);
  const [{ rate_hz, receiving_since_robot_ms, last_message_robot_ms }] = reports as [Record<string, number>];
  expect(rate_hz).toBeGreaterThan(10);
  expect(rate_hz).toBeLessThanOrEqual(51);
  expect((last_message_robot_ms ?? 0) - (receiving_since_robot_ms ?? 0)).toBeGreaterThan(500);
});
