import { join } from 'node:path';
import type { RobotLink } from '@drover/shared/api/link';
import { expect, it, onTestFinished } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';
import { LinkProxy } from './support/link-proxy.js';
import { openSqlite, storedStamps } from './support/stored.js';
import { addStream, untilStatus } from './support/streams.js';

const DAY = 24 * 3_600_000;

/** Vitals and log records wait there too. */
const OF_COUNTER = `channel IN (
  SELECT channels.id FROM channels JOIN sources ON sources.id = source_id WHERE sources.name = '/counter')`;

/** What waits of the counter in an agent's spool: how many rows that were never sent, and the highest number of any. */
function waitingIn(dataDir: string): { unsent: number; last: number } {
  const database = openSqlite(join(dataDir, 'spool.db'), { readonly: true });
  try {
    const number = (sql: string) => database.prepare<[], number>(sql).pluck().get() ?? 0;
    const cdr = database
      .prepare<[], Buffer>(`SELECT body FROM rows WHERE ${OF_COUNTER} ORDER BY id DESC LIMIT 1`)
      .pluck()
      .get();
    return {
      unsent: number(
        `SELECT count(*) FROM rows
         WHERE ${OF_COUNTER} AND NOT EXISTS (SELECT * FROM batches WHERE rows.id BETWEEN first_id AND last_id)`,
      ),
      last: cdr ? Number(cdr.readBigInt64LE(4)) : 0,
    };
  } finally {
    database.close();
  }
}

/** Makes of an agent's spool what it is when so much time has passed since its last write. */
function age(dataDir: string, ms: number): void {
  const database = openSqlite(join(dataDir, 'spool.db'));
  try {
    database.exec(`
      UPDATE age_marks SET elapsed_ms = elapsed_ms - ${ms};
      UPDATE age_head SET session_elapsed_ms = session_elapsed_ms - ${ms};
      INSERT OR IGNORE INTO age_marks SELECT max(id) + 1, elapsed_ms - ${ms} FROM rows, age_head;
    `);
  } finally {
    database.close();
  }
}

it('after an outage of eight days, what the spool’s age bound dropped is exactly what is missing', async () => {
  const cloud = await TestCloud.start();
  const proxy = await LinkProxy.start(cloud.url);
  const agent = await TestAgent.start({ url: proxy.url, token: await cloud.register('rover-1') });
  onTestFinished(async () => {
    await agent.stop();
    await proxy.stop();
    await cloud.stop();
  });
  await cloud.online('rover-1');
  // Counts 50 a second; sampled faster than that nothing is left out.
  await addStream(cloud, '/counter', 'std_msgs/msg/Int64', 200);
  await expect.poll(() => storedStamps(cloud.dataDir, '/counter').length).toBeGreaterThan(20);
  proxy.cut();
  await cloud.online('rover-1', false);
  await expect.poll(() => waitingIn(agent.dataDir).unsent, { timeout: 30_000 }).toBeGreaterThan(100);
  await agent.process.kill9();
  const { unsent, last } = waitingIn(agent.dataDir);
  age(agent.dataDir, 8 * DAY);
  const restartedMs = Date.now();
  await agent.restart();
  // What it collects now is young. It is there, so the commit that drops was made.
  await expect.poll(() => waitingIn(agent.dataDir).unsent, { timeout: 30_000 }).toBeLessThan(unsent);
  proxy.mend();
  await cloud.online('rover-1');
  const dropsOfCounter = ({ drops }: RobotLink) => drops.filter(({ source }) => source === '/counter');
  await cloud.until<RobotLink>('/robots/rover-1/link', (link) => dropsOfCounter(link).length > 0);
  const drops = dropsOfCounter(await cloud.get<RobotLink>('/robots/rover-1/link'));
  expect(drops).toMatchObject([{ source: '/counter', reason: 'too_old', rows: unsent }]);
  const status = await untilStatus(cloud, '/counter', (now) => now.drops.length > 0);
  expect(status.drops).toMatchObject([{ reason: 'too_old', rows: unsent }]);
  await cloud.until<RobotLink>('/robots/rover-1/link', ({ spool }) => (spool?.bytes ?? Number.NaN) < 10_000);
  const before = storedStamps(cloud.dataDir, '/counter').filter(({ stampMs }) => stampMs < restartedMs);
  const first = Math.min(...before.map(({ count }) => count));
  expect(last - first + 1 - before.length).toBe(unsent);
}, 120_000);
