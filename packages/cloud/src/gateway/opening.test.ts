import { randomUUID } from 'node:crypto';
import type { Statement } from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RobotRef } from '../robots/robots.js';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';
import { commitsIn } from '../testing/commits.js';
import { type ConnectedCloud, startConnectedCloud } from '../testing/connected-cloud.js';

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

const OF_GROUPS = /^(begin|commit|savepoint|release|rollback)\b/i;

describe('50 robots that come back to a cloud that knows them', () => {
  let cloud: ConnectedCloud;
  afterEach(() => cloud.stop());

  it('take 13 statements each, beside what begins and ends their groups, and hardly a commit', async () => {
    cloud = await startConnectedCloud();
    const tokens: string[] = [];
    for (let at = 0; at < 50; at += 1) tokens.push((await cloud.robot(`rover-${at}`)).token);
    const connect = async (token: string) => (await cloud.connect(token)).peer;
    const before = await Promise.all(tokens.map(connect));
    for (const { socket } of before) socket.terminate();
    while ((await cloud.connections()) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await cloud.services.links.settled();
    const { counts, restore } = await countedStatements(cloud);
    const commits = commitsIn(cloud.dataDir);
    await Promise.all(tokens.map(connect));
    await cloud.services.links.settled();
    restore();
    // The look at deadlines may come between.
    expect(counts.statements / tokens.length).toBeLessThan(13.5);
    // Two or three, and more where a busy machine spreads them over its time; one by one they would be over a hundred.
    expect(commitsIn(cloud.dataDir) - commits).toBeLessThan(25);
  });

  async function countedStatements({ store }: ConnectedCloud) {
    const counts = { statements: 0 };
    const prototype = await store.exclusive((raw) => Object.getPrototypeOf(raw.prepare('SELECT 1')) as Statement);
    const spies = (['run', 'get', 'all'] as const).map((name) => {
      const original = prototype[name];
      return vi.spyOn(prototype, name).mockImplementation(function (this: Statement, ...values: unknown[]) {
        if (!OF_GROUPS.test(this.source)) counts.statements += 1;
        return original.apply(this, values) as never;
      });
    });
    const restore = () => {
      for (const spy of spies) spy.mockRestore();
    };
    return { counts, restore };
  }
});
