import type { RobotLink } from '@drover/shared/api/link';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RobotRef } from '../robots/robots.js';
import { batchOfPoints } from '../testing/batches.js';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';
import { BatchRefusal } from './batch-error.js';

const SPOOL = '0194b6b0-3b1a-7cc0-8d7f-000000000002';

/** A robot has delivered and deleted rows 1 to 9, the store knows of fewer: as after a restore. */
describe('rows that a robot had delivered and the store does not have', () => {
  let cloud: TestCloud;
  let robot: RobotRef;
  beforeEach(async () => {
    cloud = await startTestCloud();
    robot = (await cloud.robot('rover-1')).ref;
    await write(1, 4);
  });
  afterEach(() => cloud.stop());

  const batch = async (firstSeq: number, rows: number) => {
    const points = Array.from({ length: rows }, (_, at) => ({
      source: '/counter',
      type: 'std_msgs/msg/Int64',
      payload: { data: firstSeq + at },
      stampMs: cloud.clock.nowMs,
    }));
    return { ...(await batchOfPoints(points)), spool_id: SPOOL, first_seq: firstSeq };
  };
  const write = async (firstSeq: number, rows: number, opens = false) =>
    cloud.services.writer.write(robot, await batch(firstSeq, rows), cloud.clock.nowMs, opens);
  const resume = (live: number, backfill = 1) =>
    cloud.services.writer.resume(robot, { id: SPOOL, first_seq: { live, backfill } }, cloud.clock.nowMs);
  const link = async () => (await cloud.get<RobotLink>('/robots/rover-1/link')).body;

  it('are counted and shown, and what comes after them is stored', async () => {
    expect(await resume(10)).toEqual({ live: 9, backfill: 0 });
    expect(await write(10, 2)).toBe(11);
    expect(await link()).toMatchObject({ missing_rows: 5, missing_found_at: '2026-11-21T12:00:00.000Z' });
  });

  it('are counted once, however many sessions come', async () => {
    for (let session = 0; session < 3; session += 1) await resume(10);
    expect((await link()).missing_rows).toBe(5);
    // A second restore: a second hole.
    await write(10, 2);
    await resume(15);
    expect((await link()).missing_rows).toBe(8);
  });

  it('are counted however often they are found, in a bounded number of rows of the store', async () => {
    let expected = 0;
    for (let first = 10; first < 10 + 2 * 1_100; first += 2) {
      await resume(first);
      expected = first - 5;
    }
    expect((await link()).missing_rows).toBe(expected);
    const kept = await cloud.store.db.selectFrom('missing_rows').select('first_seq').execute();
    expect(kept.length).toBeLessThanOrEqual(1_000);
    // And goes on from there.
    await resume(5_000);
    expect((await link()).missing_rows).toBe(4_995);
  });

  it('are none where the robot holds what follows, or more', async () => {
    expect(await resume(5)).toEqual({ live: 4, backfill: 0 });
    expect(await resume(2)).toEqual({ live: 4, backfill: 0 });
    expect(await link()).toMatchObject({ missing_rows: 0, missing_found_at: null });
  });

  it('are those before the first batch of a lane where an older agent does not say what it holds', async () => {
    expect(await write(10, 2, true)).toBe(11);
    expect((await link()).missing_rows).toBe(5);
  });

  it('are not taken for missing where a batch before was refused and comes again', async () => {
    await expect(write(10, 2)).rejects.toMatchObject({ refusal: BatchRefusal.gap });
    expect((await link()).missing_rows).toBe(0);
    expect(await write(5, 5)).toBe(9);
  });

  it('go with their robot', async () => {
    await resume(10);
    await cloud.delete('/robots/rover-1');
    await cloud.services.deletion.settled();
    expect(await cloud.store.db.selectFrom('missing_rows').selectAll().execute()).toEqual([]);
    expect(await cloud.store.db.selectFrom('robots').selectAll().execute()).toEqual([]);
  });
});
