/** Retention in a real cloud, beside a real agent's data and commands, and through kill -9. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';
import { changeStore, factsOf, storedCounters } from './support/stored.js';
import { addStream } from './support/streams.js';

const OLD_POINTS = 150_000;
const OLD_SOURCES = 20;
const TRIGGER = { interface: 'service', name: '/reset_odometry', type: 'std_srvs/srv/Trigger', payload: {} };

describe('retention beside a live robot', () => {
  let cloud: TestCloud;
  let agent: TestAgent;
  let kills = 0;

  beforeAll(async () => {
    cloud = await TestCloud.start();
    const token = await cloud.register('rover-1');
    await cloud.restart(() => fill(cloud.dataDir, Date.now() - 40 * 24 * 3600 * 1000));
    agent = await TestAgent.start({ url: cloud.url, token });
    await cloud.online('rover-1');
    await addStream(cloud, '/counter', 'std_msgs/msg/Int64', 200);
  });
  afterAll(async () => {
    await agent?.stop();
    await cloud?.stop();
  });

  const store = () => join(cloud.dataDir, 'drover.db');
  const facts = () => {
    const { counters, counts } = factsOf(store());
    const old = counts.filter(({ source_key: key }) => key <= OLD_SOURCES);
    return { counters, counts, old: old.reduce((sum, { count }) => sum + count, 0) };
  };

  it('goes on after each kill -9, with counters equal to a count every time', async () => {
    for (; facts().old > 0; kills += 1) {
      expect(kills).toBeLessThan(200);
      const before = facts().old;
      await expect.poll(() => facts().old, { interval: 100, timeout: 60_000 }).toBeLessThan(before);
      if (kills < 4) await cloud.crashAndRestart();
      const { counters, counts } = facts();
      expect(counters).toEqual(counts);
    }
    expect(kills).toBeGreaterThanOrEqual(3);
  });

  it('let the robot’s data through meanwhile, each once', async () => {
    const from = storedCounters(cloud.dataDir).length;
    await expect.poll(() => storedCounters(cloud.dataDir).length).toBeGreaterThan(from + 50);
    // What waited while the cloud was down comes in a lane of its own, after what is live.
    await expect.poll(() => holesAndRepeats(storedCounters(cloud.dataDir))).toEqual([]);
  });

  it('lets commands through while it runs', async () => {
    await cloud.restart(() => fill(cloud.dataDir, Date.now() - 40 * 24 * 3600 * 1000, 2 * OLD_POINTS));
    // One that starts connects at once; one that was cut off waits a while, in which retention might get done.
    await agent.crashAndRestart();
    await cloud.process.line(({ msg }) => msg === 'robot connected');
    const left: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
      left.push(facts().old);
    }
    // It was at it.
    expect(left[0]).toBeLessThan(2 * OLD_POINTS);
    expect(left[0]).toBeGreaterThan(0);
  });

  it('tells in a line and in the metrics what went', async () => {
    const line = await cloud.process.line(({ msg }) => msg.startsWith('removed what is past its time'));
    const { points } = line.removed as { points: number };
    expect(points).toBeGreaterThan(0);
    const metrics = await (await fetch(`${cloud.url}/metrics`)).text();
    expect(metrics).toContain(`drover_retention_removed_rows_total{of="points",reason="age"} ${points}`);
    expect(metrics).toMatch(/drover_store_bytes\{of="live"\} \d{6,}/);
    expect(metrics).toMatch(/drover_retention_last_run_timestamp_seconds \d{10}/);
    expect(cloud.process.lines.filter(({ part }) => part === 'retention')).toHaveLength(1);
  });
});

/** The numbers that do not follow on the one before. */
function holesAndRepeats(numbers: readonly number[]): number[] {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted.filter((number, at) => at > 0 && number !== (sorted[at - 1] ?? 0) + 1);
}

/** Old points of the store's first robot. */
function fill(dataDir: string, receivedMs: number, count = OLD_POINTS): void {
  changeStore(dataDir, (database) => {
    const robot = database.prepare<[], number>('SELECT key FROM robots').pluck().get() ?? 0;
    const source = database.prepare(
      'INSERT INTO sources (key, robot_key, name, first_stamp_ms, last_stamp_ms, point_count) VALUES (?, ?, ?, ?, ?, ?)',
    );
    const each = count / OLD_SOURCES;
    for (let key = 1; key <= OLD_SOURCES; key += 1) {
      source.run(key, robot, `/old_${key}`, receivedMs + key, receivedMs + key + OLD_SOURCES * (each - 1), each);
    }
    // In front of what there is.
    const first = database.prepare<[], number | null>('SELECT min(id) FROM points').pluck().get() ?? 1;
    const point = database.prepare(
      'INSERT INTO points (id, source_key, channel_key, stamp_ms, received_ms, cdr) VALUES (?, ?, 0, ?, ?, ?)',
    );
    const cdr = Buffer.alloc(100);
    for (let at = 0; at < count; at += 1) {
      const stampMs = receivedMs + at + 1;
      point.run(first - count + at, (at % OLD_SOURCES) + 1, stampMs, receivedMs, cdr);
    }
  });
}
