import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RobotRef } from '../robots/robots.js';
import { startTestCloud, type TestCloud, tempDir } from '../testing/cloud.js';
import { commitsIn } from '../testing/commits.js';
import { type ConnectedCloud, startConnectedCloud } from '../testing/connected-cloud.js';
import { countStatements } from '../testing/statements.js';

describe('50 sessions that begin at once', () => {
  let cloud: TestCloud;
  let robots: RobotRef[];
  beforeEach(async () => {
    cloud = await startTestCloud();
    robots = [];
    for (let at = 0; at < 50; at += 1) robots.push((await cloud.robot(`rover-${at}`)).ref);
  });
  afterEach(() => cloud.stop());

  /** What a step of all of them takes of the store: transactions that may write, and groups of reads. */
  async function transactionsOf(step: (robot: RobotRef) => Promise<unknown>) {
    const [writes, reads] = [vi.spyOn(cloud.store.db, 'transaction'), vi.spyOn(cloud.store.db, 'connection')];
    try {
      await Promise.all(robots.map(step));
      return { writes: writes.mock.calls.length, reads: reads.mock.calls.length };
    } finally {
      writes.mockRestore();
      reads.mockRestore();
    }
  }

  it('are noted, and get their desired state, in a transaction each step', async () => {
    const started = () => transactionsOf(({ key }) => cloud.services.robots.sessionStarted(key, '2026-11-21'));
    expect(await started()).toEqual({ writes: 1, reads: 1 });
    expect(await started()).toEqual({ writes: 0, reads: 1 });
    const desired = await transactionsOf(({ key }) => cloud.services.desired.forRobot(key));
    expect(desired).toEqual({ writes: 0, reads: 1 });
    const known = await transactionsOf(({ id }) => cloud.services.robots.authenticateToken(id));
    expect(known).toEqual({ writes: 0, reads: 1 });
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

describe('50 robots that come back to a cloud that knows them', () => {
  const dir = tempDir();
  let cloud: ConnectedCloud;
  afterEach(async () => {
    await cloud.stop();
    dir.remove();
  });

  it('take 13 statements each, beside what begins and ends their groups, and a commit together', async () => {
    cloud = await startConnectedCloud({ dataDir: dir.path });
    const tokens: string[] = [];
    for (let at = 0; at < 50; at += 1) tokens.push((await cloud.robot(`rover-${at}`)).token);
    await Promise.all(tokens.map((token) => cloud.connect(token)));
    await cloud.stop();
    // Its clock stands still: nobody is late.
    cloud = await startConnectedCloud({ dataDir: dir.path, monotonicNow: () => 0 });
    const { links, robots } = cloud.services;
    // What sessions tell of themselves is written as time passes: here once, when all have told it.
    await links.stop();
    const presence = vi.spyOn(robots, 'setOnline');
    const counted = await countStatements(cloud.store);
    const commits = commitsIn(cloud.dataDir);
    await Promise.all(tokens.map((token) => cloud.connect(token)));
    await links.settled();
    // Presence comes in as many groups as the machine takes time, a statement a robot.
    while (presence.mock.calls.flatMap(([changes]) => changes).length < tokens.length) await turn();
    await Promise.all(presence.mock.results.map(({ value }) => value));
    counted.restore();
    expect(counted.statements()).toBe(13 * tokens.length);
    expect(commitsIn(cloud.dataDir) - commits).toBe(1);
  });

  const turn = () => new Promise((resolve) => setTimeout(resolve, 5));
});
