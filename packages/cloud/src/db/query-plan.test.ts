import type { Compilable } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INGEST_SQL } from '../data/ingest-sql.js';
import { channelsByKey, pointHeads, pointMessages, pointPlaces, sourcesWithPoints } from '../data/store.js';
import { deletedRobotKeys, onlineRobotKeys, robotById, robotByToken, robotsOfTenant } from '../robots/store.js';
import { streamsOfRobot } from '../streams/store.js';
import { tempDir } from '../testing/cloud.js';
import { vitalsOfRobot } from '../vitals/store.js';
import { openStore, type Store } from './store.js';

const dir = tempDir();
const store: Store = openStore({ dataDir: dir.path, nowMs: 0 });
const { db } = store;

const page = { fromMs: 1, toMs: 2, offset: 50, limit: 50 };
const READS: Record<string, Compilable> = {
  'the robots of a tenant': robotsOfTenant(db, 1),
  'the robot of a path': robotById(db, 1, 'rover'),
  'the robot of a token': robotByToken(db, 'hash'),
  'the robots that were online': onlineRobotKeys(db),
  'the robots to purge': deletedRobotKeys(db),
  'a page of vitals': vitalsOfRobot(db, 1, page),
  'the sources of a robot': sourcesWithPoints(db, 1),
  'a page of one source': pointPlaces(db, { ...page, sourceKeys: [1] }),
  'a page of three sources, merged': pointPlaces(db, { ...page, sourceKeys: [1, 2, 3] }),
  'a page of many sources, merged': pointPlaces(db, {
    ...page,
    sourceKeys: Array.from({ length: 200 }, (_, at) => at),
  }),
  'sizes of points': pointHeads(db, [1, 2]),
  'messages of points': pointMessages(db, [1, 2]),
  'channels of points': channelsByKey(db, [1, 2]),
};

describe('query plans', () => {
  beforeAll(() => db.selectFrom('tenants').selectAll().execute());
  afterAll(async () => {
    await store.close();
    dir.remove();
  });

  const planOf = (sql: string, parameters: readonly unknown[]) =>
    store.exclusive((raw) => {
      const rows = raw.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters);
      return rows.map((row) => row.detail);
    });

  it.each(Object.entries(READS))('%s: by index, in order, without sorting', async (_name, query) => {
    const { sql, parameters } = query.compile();
    const plan = await planOf(sql, parameters);
    expect(plan.filter((line) => line.startsWith('SCAN') && !line.includes('INDEX'))).toEqual([]);
    expect(plan.filter((line) => line.includes('TEMP B-TREE'))).toEqual([]);
  });

  it('the streams of a robot: by index; the few there are may be sorted', async () => {
    const { sql, parameters } = streamsOfRobot(db, 1).compile();
    for (const line of await planOf(sql, parameters)) expect(line).toMatch(/^SEARCH|^USE TEMP B-TREE FOR ORDER BY/);
  });

  it('a merged page reads each source from the index alone', async () => {
    const { sql, parameters } = pointPlaces(db, { ...page, sourceKeys: [1, 2] }).compile();
    const plan = await planOf(sql, parameters);
    const reads = plan.filter((line) => line.includes('points'));
    expect(reads).toHaveLength(2);
    for (const read of reads)
      expect(read).toContain('COVERING INDEX points_by_source (source_key=? AND stamp_ms>? AND');
    expect(plan).toContain('MERGE (UNION ALL)');
  });

  it.each(Object.entries(INGEST_SQL).filter(([, sql]) => sql.startsWith('SELECT') || sql.startsWith('UPDATE')))(
    'ingest’s %s: by index',
    async (_name, sql) => {
      const plan = await store.exclusive((raw) => {
        const statement = raw.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
        const named = sql.includes('@')
          ? [{ count: 1, first: 1, last: 1, key: 1 }]
          : [...sql.matchAll(/\?/g)].map(() => 1);
        return statement.all(...named).map((row) => row.detail);
      });
      expect(plan.length).toBeGreaterThan(0);
      for (const line of plan) expect(line).toMatch(/^SEARCH .* USING/);
    },
  );
});
