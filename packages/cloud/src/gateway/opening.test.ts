import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RobotRef } from '../robots/robots.js';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';

describe('50 sessions that begin at once', () => {
  let cloud: TestCloud;
  let robots: RobotRef[];
  beforeEach(async () => {
    cloud = await startTestCloud();
    robots = [];
    for (let at = 0; at < 50; at += 1) robots.push((await cloud.robot(`rover-${at}`)).ref);
  });
  afterEach(() => cloud.stop());

  async function transactionsOf(step: (robot: RobotRef) => Promise<unknown>): Promise<number> {
    const begun = vi.spyOn(cloud.store.db, 'transaction');
    try {
      await Promise.all(robots.map(step));
      return begun.mock.calls.length;
    } finally {
      begun.mockRestore();
    }
  }

  it('are noted, and get their desired state, in a transaction each step', async () => {
    expect(await transactionsOf(({ key }) => cloud.services.robots.sessionStarted(key, '2026-11-21'))).toBe(1);
    expect(await transactionsOf(({ key }) => cloud.services.desired.forRobot(key))).toBe(1);
    const provisioned = await cloud.store.db.selectFrom('robots').select('provisioned').execute();
    expect(new Set(provisioned.map((row) => row.provisioned))).toEqual(new Set([1]));
  });

  it('look up what is stored of their spools without a transaction, where nothing is missing', async () => {
    const spool = { id: randomUUID(), first_seq: { live: 1, backfill: 1 } };
    const statements: string[] = [];
    await cloud.store.exclusive((raw) => {
      const transaction = vi.spyOn(raw, 'transaction');
      transaction.mockImplementation(() => {
        statements.push('begin');
        throw new Error('no transaction is needed');
      });
    });
    const [robot] = robots;
    if (!robot) throw new Error('no robot');
    expect(await cloud.services.writer.resume(robot, spool, 0)).toEqual({ live: 0, backfill: 0 });
    expect(statements).toEqual([]);
  });

  it('do not take each other along where one’s robot is gone', async () => {
    await cloud.delete('/robots/rover-7');
    const begun = await Promise.allSettled(
      robots.map(({ key }) => cloud.services.robots.sessionStarted(key, '2026-11-21')),
    );
    expect(begun.map(({ status }, at) => (status === 'rejected' ? at : -1)).filter((at) => at >= 0)).toEqual([7]);
  });
});
