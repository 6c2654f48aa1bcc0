import { randomUUID } from 'node:crypto';
import type { DataPoint } from '@drover/shared/api/data';
import type { Robot } from '@drover/shared/api/robots';
import type { Stream } from '@drover/shared/api/streams';
import type { Batch } from '@drover/shared/link/batch';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RobotRef } from '../robots/robots.js';
import { batchOfPoints, type TestPoint } from '../testing/batches.js';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';
import { countersOf, countsOf } from './counts.fixture.js';
import { Retention, type RetentionBounds, type RetentionOptions, type RetentionRun } from './retention.js';
import { STEP_ROWS_MAX } from './steps.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const FOR_EVER: RetentionBounds = { ageMs: null, bytes: null };

describe('retention', () => {
  let cloud: TestCloud;
  let robot: RobotRef;
  let monotonicMs = 0;
  beforeEach(async () => {
    cloud = await startTestCloud();
    robot = (await cloud.robot('rover-1')).ref;
  });
  afterEach(() => cloud.stop());

  const retention = (bounds: Partial<RetentionBounds>, more: Partial<RetentionOptions> = {}) =>
    new Retention({
      store: cloud.store,
      bounds: { ...FOR_EVER, ...bounds },
      log: pino({ level: 'silent' }),
      now: () => cloud.clock.nowMs,
      monotonicNow: () => monotonicMs,
      ...more,
    });
  const counter = (value: number, stampMs: number, source = '/counter'): TestPoint => {
    return { source, type: 'std_msgs/msg/Int64', payload: { data: value }, stampMs };
  };
  /** Received now, by the cloud's clock; stamped now unless told otherwise. */
  const write = async (count: number, source = '/counter', of = robot, stampMs = cloud.clock.nowMs) => {
    const points = Array.from({ length: count }, (_, at) => counter(at, stampMs, source));
    await cloud.services.writer.write(of, await batchOfPoints(points), cloud.clock.nowMs);
  };
  const writeVital = async () => {
    const vital = { kind: 'vital', robot_stamp_ms: cloud.clock.nowMs, cpu: 1, ram: 2, disk: 3, battery: 4 } as const;
    const batch: Batch = { ...(await batchOfPoints([])), spool_id: randomUUID(), rows: [vital] };
    await cloud.services.writer.write(robot, batch, cloud.clock.nowMs);
  };
  const rows = async (of: 'points' | 'vitals' | 'commands' | 'sources' | 'channels' | 'schemas') =>
    (await cloud.store.db.selectFrom(of).selectAll().execute()).length;
  const stream = async (source: string) => {
    const { body } = await cloud.get<Stream[]>('/robots/rover-1/streams');
    return body.find((one) => one.source === source);
  };
  const expectExact = async () => {
    const counted = await cloud.store.exclusive((raw) => [countersOf(raw), countsOf(raw)]);
    expect(counted[0]).toEqual(counted[1]);
  };

  it('removes what was received longer ago than the bound, to the millisecond, and keeps the rest', async () => {
    await write(3);
    await writeVital();
    cloud.clock.nowMs += HOUR_MS;
    await write(2);
    await writeVital();
    const young = retention({ ageMs: HOUR_MS + 1 });
    expect((await young.run()).removed.points).toEqual({ age: 0, size: 0 });
    const run = await retention({ ageMs: HOUR_MS }).run();
    expect(run.removed).toMatchObject({ points: { age: 3, size: 0 }, vitals: { age: 1, size: 0 } });
    expect([await rows('points'), await rows('vitals')]).toEqual([2, 1]);
    await expectExact();
  });

  it('goes by when data came, not by the robot’s stamps', async () => {
    await write(1, '/counter', robot, cloud.clock.nowMs + 100 * DAY_MS);
    cloud.clock.nowMs += HOUR_MS;
    await write(1, '/counter', robot, 0);
    await retention({ ageMs: HOUR_MS }).run();
    const [left] = (await cloud.get<DataPoint[]>('/robots/rover-1/data?source=/counter')).body;
    expect(left?.stamp).toBe('1970-01-01T00:00:00.000Z');
    await expectExact();
  });

  it('keeps everything where both bounds are off', async () => {
    await write(3);
    cloud.clock.nowMs += 10_000 * DAY_MS;
    expect((await retention({}).run()).removed.points).toEqual({ age: 0, size: 0 });
    expect(await rows('points')).toBe(3);
  });

  it('shows a stream whose points are all gone as empty, and counts it anew from what comes then', async () => {
    await cloud.post('/robots/rover-1/streams', { source: '/counter', type: 'std_msgs/msg/Int64', hz: 1 });
    await write(3);
    expect(await stream('/counter')).toMatchObject({ num_recordings: 3 });
    cloud.clock.nowMs += DAY_MS;
    await retention({ ageMs: HOUR_MS }).run();
    const empty = { num_recordings: 0, first_recording: null, last_recording: null };
    expect(await stream('/counter')).toMatchObject(empty);
    // Definitions stay: a session that stands counts on what it has sent.
    expect([await rows('sources'), await rows('channels'), await rows('schemas')]).toEqual([0, 0, 1]);
    await write(2);
    const now = new Date(cloud.clock.nowMs).toISOString();
    expect(await stream('/counter')).toMatchObject({ num_recordings: 2, first_recording: now, last_recording: now });
    await expectExact();
  });

  it('keeps a robot’s latest vitals, which are its state and no sample', async () => {
    await writeVital();
    cloud.clock.nowMs += DAY_MS;
    await retention({ ageMs: HOUR_MS }).run();
    expect(await rows('vitals')).toBe(0);
    expect((await cloud.get<Robot>('/robots/rover-1')).body.vitals).toEqual({ cpu: 1, ram: 2, disk: 3, battery: 4 });
  });

  it('removes ended commands as old as data, never younger than a day, never an open one', async () => {
    const { db } = cloud.store;
    await db.updateTable('robots').set({ provisioned: 1 }).execute();
    const post = async (ttl: number) => {
      const body = { interface: 'service', name: '/x', type: 'std_srvs/srv/Trigger', payload: {}, ttl_s: ttl };
      return (await cloud.post<{ uuid: string }>('/robots/rover-1/commands', body)).body.uuid;
    };
    const waiting = await post(7 * 24 * 3600);
    await post(0);
    cloud.clock.nowMs += DAY_MS - 1;
    expect((await retention({ ageMs: HOUR_MS }).run()).removed.commands.age).toBe(0);
    cloud.clock.nowMs += 1;
    const young = await post(0);
    expect((await retention({ ageMs: HOUR_MS }).run()).removed.commands.age).toBe(1);
    const left = await db.selectFrom('commands').select('uuid').orderBy('key').execute();
    expect(left.map((row) => row.uuid)).toEqual([waiting, young]);
  });

  it('removes what came first, of whichever robot, until the store is within its size', async () => {
    const other = (await cloud.robot('rover-2')).ref;
    for (const of of [robot, other, robot, other]) {
      await write(2000, '/counter', of);
      cloud.clock.nowMs += 1000;
    }
    const { size } = await retention({}).run();
    const run = await retention({ bytes: size.live - 60_000 }).run();
    expect(run.size.live).toBeLessThanOrEqual(size.live - 60_000);
    expect(run.removed.points.age).toBe(0);
    const removed = run.removed.points.size;
    expect(removed).toBeGreaterThan(500);
    // No more than it took, to a step; and of the robot whose data came first.
    expect(removed).toBeLessThanOrEqual(2000);
    const counts = await cloud.store.db.selectFrom('sources').select('point_count').orderBy('robot_key').execute();
    expect(counts.map((row) => row.point_count)).toEqual([4000 - removed, 4000]);
    await expectExact();
  });

  it('says so where the store is over its size and nothing is left to remove', async () => {
    await write(10);
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const run = await retention({ bytes: 1 }, { log }).run();
    expect(run.removed.points.size).toBe(10);
    expect(lines).toEqual([expect.stringContaining('no points or vitals are left to remove')]);
  });

  it('removes few rows a step, and lets ingest and commands in between', async () => {
    await write(2000);
    await write(1500);
    cloud.clock.nowMs += DAY_MS;
    const { store, services } = cloud;
    const one = await batchOfPoints([counter(1, cloud.clock.nowMs)]);
    const request = { interface: 'topic', name: '/x', type: 'std_msgs/msg/String', payload: {} } as const;
    const steps: number[] = [];
    const waits: { kind: string; steps: number }[] = [];
    const others: Promise<unknown>[] = [];
    /** How many steps pass until something that begins now is done. */
    const timed = (kind: string, work: Promise<unknown>) => {
      const before = steps.length;
      others.push(work.then(() => waits.push({ kind, steps: steps.length - before })));
    };
    const watched = {
      ...store,
      exclusive: <T>(use: Parameters<typeof store.exclusive<T>>[0]) =>
        store.exclusive<T>((raw) => {
          const count = raw.prepare<[], number>('SELECT count(*) FROM points').pluck();
          const had = count.get() ?? 0;
          const result = use(raw);
          const gone = had - (count.get() ?? 0);
          if (gone === 0) return result;
          steps.push(gone);
          timed('ingest', services.writer.write(robot, { ...one, spool_id: randomUUID() }, cloud.clock.nowMs));
          const create = (tx: typeof store.db) =>
            services.commands.create(tx, robot, { ...request, timeoutMs: 1, ttlMs: 0, latched: false });
          timed('command', store.db.transaction().execute(create));
          return result;
        }),
    };
    await retention({ ageMs: HOUR_MS }, { store: watched }).run();
    await Promise.all(others);
    expect(steps.length).toBeGreaterThanOrEqual(7);
    expect(steps.reduce((sum, step) => sum + step, 0)).toBe(3500);
    expect(Math.max(...steps)).toBeLessThanOrEqual(STEP_ROWS_MAX);
    for (const kind of ['ingest', 'command']) {
      const waited = waits.filter((wait) => wait.kind === kind).map((wait) => wait.steps);
      expect(waited).toHaveLength(steps.length);
      expect(Math.max(...waited)).toBeLessThanOrEqual(2);
    }
    await expectExact();
  });

  it('takes fewer rows a step where steps take long', async () => {
    await write(2000);
    cloud.clock.nowMs += DAY_MS;
    // Each look at the clock is 15 ms later than the one before.
    const slow = new Retention({
      store: cloud.store,
      bounds: { ageMs: HOUR_MS, bytes: null },
      log: pino({ level: 'silent' }),
      now: () => cloud.clock.nowMs,
      monotonicNow: () => {
        monotonicMs += 25;
        return monotonicMs;
      },
    });
    const { removed, steps } = await slow.run();
    expect(removed.points.age).toBe(2000);
    expect(steps).toBeGreaterThan(20);
  });

  it('is not held up by points that came while the cloud’s clock was years ahead, and keeps young ones received “long ago”', async () => {
    await write(2);
    const rightMs = cloud.clock.nowMs;
    cloud.clock.nowMs = rightMs + 3650 * DAY_MS;
    await write(1000, '/ahead');
    cloud.clock.nowMs = rightMs + 1000;
    await write(2, '/after');
    cloud.clock.nowMs = 1000;
    await write(2, '/behind');
    cloud.clock.nowMs = rightMs + 2 * HOUR_MS;
    await write(1, '/young');
    const { removed } = await retention({ ageMs: HOUR_MS }).run();
    // Those received in 1970 came after others that are past their time, and before none that is not.
    expect(removed.points.age).toBe(1006);
    cloud.clock.nowMs = 1000;
    await write(2, '/behind');
    cloud.clock.nowMs = rightMs + 2 * HOUR_MS + 1;
    expect((await retention({ ageMs: HOUR_MS }).run()).removed.points.age).toBe(0);
    await expectExact();
  });

  it('is not held up by a command that came while the cloud’s clock was years ahead', async () => {
    const body = { interface: 'topic', name: '/a', type: 'std_msgs/msg/Empty', payload: {} };
    const post = async () => await cloud.post('/robots/rover-1/commands', body);
    const rightMs = cloud.clock.nowMs;
    cloud.clock.nowMs += 20 * 365 * DAY_MS;
    await post();
    cloud.clock.nowMs = rightMs;
    await post();
    cloud.clock.nowMs += 31 * DAY_MS;
    expect((await retention({ ageMs: 30 * DAY_MS }).run()).removed.commands.age).toBe(1);
  });

  it('keeps counters equal to a count whatever comes and goes', async () => {
    const robots = [robot, (await cloud.robot('rover-2')).ref, (await cloud.robot('rover-3')).ref];
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 48_271) % 0x7fffffff;
      return seed % below;
    };
    const { size: empty } = await retention({}).run();
    for (let phase = 0; phase < 25; phase += 1) {
      for (let batch = random(4); batch >= 0; batch -= 1) {
        const points = Array.from({ length: 1 + random(400) }, (_, at) =>
          counter(at, cloud.clock.nowMs + random(5 * HOUR_MS) - 3 * HOUR_MS, `/source_${random(6)}`),
        );
        const of = robots[random(3)] ?? robot;
        await cloud.services.writer.write(of, await batchOfPoints(points), cloud.clock.nowMs);
      }
      cloud.clock.nowMs += random(HOUR_MS);
      const bounds = random(2) === 0 ? { ageMs: random(3 * HOUR_MS) } : { bytes: empty.live + random(60_000) };
      await retention(bounds).run();
      await expectExact();
    }
  });

  it('runs when the cloud starts and stops between two steps', async () => {
    for (let batch = 0; batch < 3; batch += 1) await write(2000);
    cloud.clock.nowMs += DAY_MS;
    const service = retention({ ageMs: HOUR_MS });
    await service.start();
    await expect.poll(() => rows('points')).toBeLessThan(6000);
    await service.stop();
    await expectExact();
    const left = await rows('points');
    expect(left).toBeGreaterThan(0);
    const runs: RetentionRun[] = [];
    const again = retention({ ageMs: HOUR_MS }, { onRun: (run) => runs.push(run) });
    await again.start();
    await expect.poll(() => runs.length).toBe(1);
    await again.stop();
    expect(runs[0]?.removed.points.age).toBe(left);
    await expectExact();
  });
});
