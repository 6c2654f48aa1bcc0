import { createHash, randomUUID } from 'node:crypto';
import type { Robot } from '@drover/shared/api/robots';
import type { Vital } from '@drover/shared/api/vitals';
import type { Batch, DataRow } from '@drover/shared/link/batch';
import type { Statement } from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { RobotRef } from '../robots/robots.js';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';
import { BatchRefusal } from './batch-error.js';
import { type Committed, DataWriter } from './writer.js';

const SPOOL = randomUUID();
const TEXT = 'int64 data\n';
const SCHEMA = { hash: createHash('sha256').update(TEXT).digest('hex'), type: 'std_msgs/msg/Int64', text: TEXT };
const RECEIVED_MS = Date.parse('2026-11-21T12:00:10Z');

function point(value: number, stampMs = RECEIVED_MS - 1000 + value, channel = 0): DataRow {
  const cdr = new Uint8Array(12);
  cdr[1] = 1;
  new DataView(cdr.buffer).setBigInt64(4, BigInt(value), true);
  return { kind: 'point', channel, robot_stamp_ms: stampMs, cdr };
}

function batchOf(rows: DataRow[], more: Partial<Batch> = {}): Batch {
  return {
    kind: 'batch',
    spool_id: SPOOL,
    lane: 'live',
    first_seq: 1,
    clock: { offset_ms: 0, uncertainty_ms: 1 },
    schemas: [SCHEMA],
    channels: [{ source: '/counter', type: SCHEMA.type, schema_hash: SCHEMA.hash, publisher: '/counter_node' }],
    rows,
    ...more,
  };
}

describe('the data writer', () => {
  let cloud: TestCloud;
  let writer: DataWriter;
  let robot: RobotRef;
  beforeEach(async () => {
    cloud = await startTestCloud();
    ({ writer } = cloud.services);
    robot = (await cloud.robot('rover-1')).ref;
  });
  afterEach(() => cloud.stop());

  const points = () => cloud.store.db.selectFrom('points').selectAll().orderBy('id').execute();
  const values = async () => (await points()).map((row) => Number(row.cdr.readBigInt64LE(4)));
  const source = () => cloud.store.db.selectFrom('sources').selectAll().executeTakeFirstOrThrow();

  it('stores a batch, counts it, and acknowledges its last sequence', async () => {
    expect(await writer.write(robot, batchOf([point(1), point(2), point(3)]), RECEIVED_MS)).toBe(3);
    expect(await values()).toEqual([1, 2, 3]);
    expect(await source()).toMatchObject({
      name: '/counter',
      point_count: 3,
      first_stamp_ms: RECEIVED_MS - 999,
      last_stamp_ms: RECEIVED_MS - 997,
    });
    expect(await writer.acked(robot.key, SPOOL)).toEqual({ live: 3, backfill: 0 });
  });

  it('stores a batch sent twice, or partly twice, once', async () => {
    await writer.write(robot, batchOf([point(1), point(2)]), RECEIVED_MS);
    expect(await writer.write(robot, batchOf([point(1), point(2)]), RECEIVED_MS)).toBe(2);
    expect(await writer.write(robot, batchOf([point(2), point(3)], { first_seq: 2 }), RECEIVED_MS)).toBe(3);
    expect(await values()).toEqual([1, 2, 3]);
    expect((await source()).point_count).toBe(3);
  });

  it('keeps its marks over a restart: what was acknowledged before is not stored again', async () => {
    await writer.write(robot, batchOf([point(1), point(2)]), RECEIVED_MS);
    const { dataDir } = cloud;
    const second = await startTestCloud({ dataDir });
    expect(await second.services.writer.acked(robot.key, SPOOL)).toEqual({ live: 2, backfill: 0 });
    const ackedSeq = await second.services.writer.write(
      robot,
      batchOf([point(2), point(3)], { first_seq: 2 }),
      RECEIVED_MS,
    );
    expect(ackedSeq).toBe(3);
    await second.stop();
    expect(await values()).toEqual([1, 2, 3]);
  });

  it('refuses a batch that leaves a gap above the mark, and takes the missing one after', async () => {
    await writer.write(robot, batchOf([point(1)]), RECEIVED_MS);
    await expect(writer.write(robot, batchOf([point(3)], { first_seq: 3 }), RECEIVED_MS)).rejects.toMatchObject({
      refusal: BatchRefusal.gap,
    });
    expect(await writer.write(robot, batchOf([point(2), point(3)], { first_seq: 2 }), RECEIVED_MS)).toBe(3);
    expect(await values()).toEqual([1, 2, 3]);
  });

  it('refuses one whose first batch is still to come', async () => {
    // It was refused (too much waits, the disk is full) while this one was on its way.
    await expect(writer.write(robot, batchOf([point(3)], { first_seq: 3 }), RECEIVED_MS)).rejects.toMatchObject({
      refusal: BatchRefusal.gap,
    });
    expect(await writer.write(robot, batchOf([point(1), point(2)]), RECEIVED_MS)).toBe(2);
  });

  it('moves the mark over rows that are gone', async () => {
    const rows: DataRow[] = [point(1), { kind: 'gone' }, point(3), { kind: 'gone' }];
    expect(await writer.write(robot, batchOf(rows), RECEIVED_MS)).toBe(4);
    expect(await values()).toEqual([1, 3]);
  });

  it('keeps lanes, spools and robots apart', async () => {
    const other = (await cloud.robot('rover-2')).ref;
    await writer.write(robot, batchOf([point(1)]), RECEIVED_MS);
    await writer.write(robot, batchOf([point(2)], { lane: 'backfill' }), RECEIVED_MS);
    await writer.write(robot, batchOf([point(3)], { spool_id: randomUUID() }), RECEIVED_MS);
    await writer.write(other, batchOf([point(4)]), RECEIVED_MS);
    expect(await values()).toEqual([1, 2, 3, 4]);
  });

  it('stores more rows than one statement takes, in order', async () => {
    const many = Array.from({ length: 1999 }, (_, at) => point(at));
    expect(await writer.write(robot, batchOf(many), RECEIVED_MS)).toBe(1999);
    expect(await values()).toEqual(many.map((_, at) => at));
    expect((await source()).point_count).toBe(1999);
  });

  it('commits what waits as one group, and each robot hears of its own', async () => {
    const groups: Committed[] = [];
    const own = new DataWriter({ store: cloud.store, onCommitted: (committed) => groups.push(committed) });
    const other = (await cloud.robot('rover-2')).ref;
    const acked = await Promise.all([
      own.write(robot, batchOf([point(1)]), RECEIVED_MS),
      own.write(robot, batchOf([point(2), point(3)], { first_seq: 2 }), RECEIVED_MS),
      own.write(other, batchOf([point(4)]), RECEIVED_MS),
    ]);
    expect(acked).toEqual([1, 3, 1]);
    expect(groups).toEqual([{ rows: 4, batches: 3 }]);
    await own.stop();
  });

  it('lets robots take turns, so that one with much waiting does not hold up another', async () => {
    const other = (await cloud.robot('rover-2')).ref;
    const order: string[] = [];
    const flood = Array.from({ length: 10 }, (_, at) => {
      const rows = Array.from({ length: 1500 }, (_row, place) => point(at * 1500 + place));
      const written = writer.write(robot, batchOf(rows, { first_seq: at * 1500 + 1 }), RECEIVED_MS);
      return written.then((seq) => order.push(`flood ${seq}`));
    });
    const small = writer.write(other, batchOf([point(1)]), RECEIVED_MS).then(() => order.push('other'));
    await Promise.all([...flood, small]);
    expect(order.indexOf('other')).toBeLessThan(3);
    expect(order.filter((entry) => entry !== 'other')).toEqual(
      Array.from({ length: 10 }, (_, at) => `flood ${(at + 1) * 1500}`),
    );
  });

  it('fails only the batch that is wrong, not the group it came with', async () => {
    const other = (await cloud.robot('rover-2')).ref;
    const poison = batchOf([{ ...point(1), cdr: 'no bytes' } as unknown as DataRow]);
    const results = await Promise.allSettled([
      writer.write(robot, poison, RECEIVED_MS),
      writer.write(other, batchOf([point(2)]), RECEIVED_MS),
    ]);
    expect(results.map((result) => result.status)).toEqual(['rejected', 'fulfilled']);
    expect(await values()).toEqual([2]);
    expect(await writer.acked(robot.key, SPOOL)).toEqual({ live: 0, backfill: 0 });
  });

  it.each([
    ['a definition that was never sent', { schemas: [] }, BatchRefusal.unknownSchema],
    ['a definition with another hash', { schemas: [{ ...SCHEMA, text: 'int32 data\n' }] }, BatchRefusal.malformed],
    ['a channel that is not listed', { channels: [] }, BatchRefusal.malformed],
  ])('refuses %s and stores nothing of the batch', async (_name, more, refusal) => {
    const wrong = batchOf([point(1)], more as Partial<Batch>);
    await expect(writer.write(robot, wrong, RECEIVED_MS)).rejects.toMatchObject({ refusal });
    expect(await points()).toEqual([]);
    expect(await writer.write(robot, batchOf([point(1)]), RECEIVED_MS)).toBe(1);
  });

  it('leaves nothing of a batch that fails half way, and all of the others in its group', async () => {
    await cloud.store.exclusive((raw) =>
      raw.exec(`CREATE TRIGGER fails BEFORE INSERT ON points WHEN length(NEW.cdr) = 99
                BEGIN SELECT RAISE(ABORT, 'half way'); END`),
    );
    const other = (await cloud.robot('rover-2')).ref;
    const failing = { ...point(0), cdr: new Uint8Array(99) } as DataRow;
    // In the midst of a statement of many rows.
    const many = Array.from({ length: 70 }, (_, at) => point(at));
    const rows = [...many, failing, ...many];
    const results = await Promise.allSettled([
      writer.write(other, batchOf([point(1)], { spool_id: randomUUID() }), RECEIVED_MS),
      writer.write(robot, batchOf(rows), RECEIVED_MS),
      writer.write(other, batchOf([point(2)], { spool_id: randomUUID() }), RECEIVED_MS),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await values()).toEqual([1, 2]);
    expect(await writer.acked(robot.key, SPOOL)).toEqual({ live: 0, backfill: 0 });
  });

  it('commits what ten robots send at once in one transaction', async () => {
    const commits: Committed[] = [];
    const { store } = cloud;
    const counting = new DataWriter({ store, onCommitted: (committed) => commits.push(committed) });
    const robots = await Promise.all(Array.from({ length: 10 }, (_, at) => cloud.robot(`sender-${at}`)));
    const rows = Array.from({ length: 100 }, (_, at) => point(at));
    await Promise.all(robots.map(({ ref }) => counting.write(ref, batchOf(rows), RECEIVED_MS)));
    expect(commits).toEqual([{ rows: 1000, batches: 10 }]);
  });

  it('knows a definition by its hash in later batches', async () => {
    await writer.write(robot, batchOf([point(1)]), RECEIVED_MS);
    expect(await writer.write(robot, batchOf([point(2)], { first_seq: 2, schemas: [] }), RECEIVED_MS)).toBe(2);
  });

  it('refuses what comes for a deleted robot', async () => {
    await cloud.delete('/robots/rover-1');
    await expect(writer.write(robot, batchOf([point(1)]), RECEIVED_MS)).rejects.toMatchObject({
      refusal: BatchRefusal.robotGone,
    });
  });

  it('corrects a clock that is more than a second off, and keeps the robot’s own stamp', async () => {
    const yearMs = 365 * 24 * 3600 * 1000;
    const rows = [point(1, RECEIVED_MS - yearMs)];
    await writer.write(robot, batchOf(rows, { clock: { offset_ms: yearMs - 500, uncertainty_ms: 5 } }), RECEIVED_MS);
    await writer.write(
      robot,
      batchOf([point(2, RECEIVED_MS - 900.5)], { first_seq: 2, clock: { offset_ms: 1000, uncertainty_ms: 5 } }),
      RECEIVED_MS,
    );
    const [corrected, asItWas] = await points();
    expect(corrected).toMatchObject({ stamp_ms: RECEIVED_MS - 500, robot_stamp_ms: RECEIVED_MS - yearMs });
    expect(asItWas).toMatchObject({ stamp_ms: RECEIVED_MS - 901, robot_stamp_ms: null, received_ms: RECEIVED_MS });
  });

  it('takes the time of receipt where a clock yields no date', async () => {
    await writer.write(robot, batchOf([point(1, 1e300), point(2, -5000)]), RECEIVED_MS);
    expect((await points()).map((row) => row.stamp_ms)).toEqual([RECEIVED_MS, RECEIVED_MS]);
  });

  it('stores vitals and keeps the newest by stamp as the latest', async () => {
    const vital = (cpu: number, stampMs: number): DataRow => {
      return { kind: 'vital', robot_stamp_ms: stampMs, cpu, ram: 2, disk: 3, battery: -1 };
    };
    const rows = [vital(20, RECEIVED_MS), vital(10, RECEIVED_MS - 5000)];
    expect(await writer.write(robot, batchOf(rows, { schemas: [], channels: [] }), RECEIVED_MS)).toBe(2);
    expect((await cloud.get<Robot>('/robots/rover-1')).body.vitals).toEqual({ cpu: 20, battery: -1, ram: 2, disk: 3 });
    const listed = await cloud.get<Vital[]>('/robots/rover-1/vitals');
    expect(listed.body.map(({ cpu }) => cpu)).toEqual([20, 10]);
  });

  it('refuses a batch over the bound of what may wait, and takes it once there is room', async () => {
    const own = new DataWriter({ store: cloud.store, queueBytesMax: 500 });
    const first = own.write(robot, batchOf([point(1), point(2), point(3), point(4)]), RECEIVED_MS);
    await expect(
      own.write(robot, batchOf([point(5), point(6), point(7)], { first_seq: 5 }), RECEIVED_MS),
    ).rejects.toMatchObject({ refusal: BatchRefusal.overloaded });
    expect(await first).toBe(4);
    expect(await own.write(robot, batchOf([point(5)], { first_seq: 5 }), RECEIVED_MS)).toBe(5);
    await own.stop();
  });

  it('acknowledges nothing when the disk is full, and goes on when it no longer is', async () => {
    const other = (await cloud.robot('rover-2')).ref;
    await cloud.store.exclusive((raw) => raw.pragma(`max_page_count = ${raw.pragma('page_count', { simple: true })}`));
    const large = { ...point(1), cdr: new Uint8Array(1024 * 1024) } as DataRow;
    const results = await Promise.allSettled([
      writer.write(other, batchOf([point(0)]), RECEIVED_MS),
      writer.write(robot, batchOf([large], { spool_id: randomUUID() }), RECEIVED_MS),
    ]);
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected']);
    expect(results[1]).toMatchObject({ reason: { code: 'SQLITE_FULL' } });
    expect(await points()).toEqual([]);
    const name = 'x'.repeat(256);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) => cloud.post('/robots', { id: `more-${at}`, name })),
    );
    const refused = answers.find((answer) => answer.status !== 201);
    expect([refused?.status, refused?.body.error_code]).toEqual([503, 'unavailable']);
    await cloud.store.exclusive((raw) => raw.pragma('max_page_count = 1000000'));
    expect(await writer.write(robot, batchOf([large]), RECEIVED_MS)).toBe(1);
  });

  describe('with vitals that wait for others', () => {
    const vital: DataRow = { kind: 'vital', robot_stamp_ms: RECEIVED_MS, cpu: 1, ram: 2, disk: 3, battery: -1 };
    const vitals = (more: Partial<Batch> = {}) => batchOf([vital], { schemas: [], channels: [], ...more });
    const groups: Committed[] = [];
    let patient: DataWriter;
    beforeEach(() => {
      groups.length = 0;
      const { store } = cloud;
      patient = new DataWriter({ store, gatherMs: 3_600_000, onCommitted: (committed) => groups.push(committed) });
    });

    /** Each in a turn of the event loop of its own, as they come from as many sockets. */
    async function oneAfterTheOther(count: number): Promise<Promise<number>[]> {
      const written: Promise<number>[] = [];
      for (let at = 0; at < count; at += 1) {
        written.push(patient.write(robot, vitals({ spool_id: randomUUID() }), RECEIVED_MS));
        await new Promise((resolve) => setImmediate(resolve));
      }
      return written;
    }

    it('commits those of 100 once', async () => {
      const written = await oneAfterTheOther(100);
      expect(groups).toEqual([]);
      await patient.stop();
      expect(new Set(await Promise.all(written))).toEqual(new Set([1]));
      expect(groups).toEqual([{ rows: 100, batches: 100 }]);
    });

    it('stores each with four statements, and all with one transaction’s', async () => {
      await patient.write(robot, vitals({ rows: Array(11).fill(vital) }), RECEIVED_MS);
      const proto = await cloud.store.exclusive((raw) => Object.getPrototypeOf(raw.prepare('SELECT 1')) as Statement);
      const written = await oneAfterTheOther(10);
      const ran = [vi.spyOn(proto, 'run'), vi.spyOn(proto, 'get')];
      onTestFinished(() => void vi.restoreAllMocks());
      await patient.stop();
      await Promise.all(written);
      // The mark, the vital, the latest one, the mark again; begin and commit.
      expect(ran.reduce((sum, { mock }) => sum + mock.calls.length, 0)).toBe(10 * 4 + 2);
    });

    it('commits them at once together with a point, which does not wait', async () => {
      const written = await oneAfterTheOther(3);
      written.push(patient.write(robot, batchOf([point(1)]), RECEIVED_MS));
      expect(await Promise.all(written)).toEqual([1, 1, 1, 1]);
      expect(groups).toEqual([{ rows: 4, batches: 4 }]);
    });

    it('does not keep a robot waiting that catches up', async () => {
      expect(await patient.write(robot, vitals({ rows: Array(11).fill(vital) }), RECEIVED_MS)).toBe(11);
    });
  });

  it('writes what waits when it stops, and refuses what comes after', async () => {
    const waiting = writer.write(robot, batchOf([point(1)]), RECEIVED_MS);
    await writer.stop();
    expect(await waiting).toBe(1);
    await expect(writer.write(robot, batchOf([point(2)], { first_seq: 2 }), RECEIVED_MS)).rejects.toMatchObject({
      refusal: BatchRefusal.stopping,
    });
  });
});
