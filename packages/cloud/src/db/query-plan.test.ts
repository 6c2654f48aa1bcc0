import {
  type Compilable,
  type CompiledQuery,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as commands from '../commands/store.js';
import { composeOfRobot, composeStatusOf, composeVersionsOf, robotsUsing } from '../compose/store.js';
import { INGEST_SQL } from '../data/ingest-sql.js';
import { channelsByKey, pointHeads, pointMessages, pointPlaces, sourcesWithPoints } from '../data/store.js';
import { dropsOf } from '../links/drops.js';
import { robotWithLink } from '../links/store.js';
import { RETENTION_SQL } from '../retention/sql.js';
import { deletedRobotKeys, onlineRobotKeys, robotById, robotByToken, robotsOfTenant } from '../robots/store.js';
import { streamsOfRobot, streamWithStatus } from '../streams/store.js';
import { tempDir } from '../testing/cloud.js';
import { vitalsOfRobot } from '../vitals/store.js';
import type { Schema } from './schema.js';
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
  'a page of a tenant’s commands': commands.listCommands(db, { tenantKey: 1, offset: 50, limit: 50 }),
  'a page of a robot’s commands': commands.listCommands(db, { tenantKey: 1, robotKey: 1, offset: 50, limit: 50 }),
  'the status of a stream': streamWithStatus(db, 1, '/odom'),
  'the link of a robot': robotWithLink(db, 1),
  'the compose file of a robot': composeOfRobot(db, 1),
  'what a robot told of its compose file': composeStatusOf(db, 1),
  'the versions of a compose file': composeVersionsOf(db, 1),
  'the robots that use a compose file': robotsUsing(db, { tenantKey: 1, key: 1, id: 'stack' }),
  'what a robot dropped': dropsOf(db, 1),
  'what a robot dropped of a source': dropsOf(db, 1, '/odom'),
  'the commands of a page': commands.listedCommands(db, [1, 2]),
  'the sources of a robot': sourcesWithPoints(db, 1),
  'a page of one source': pointPlaces(db, { ...page, sourceKeys: [1] }),
  'a page of three sources, merged': pointPlaces(db, { ...page, sourceKeys: [1, 2, 3] }),
  'a page after a point': pointPlaces(db, { ...page, sourceKeys: [1, 2], before: { id: 5, stamp_ms: 1 } }),
  'a page of many sources, merged': pointPlaces(db, {
    ...page,
    sourceKeys: Array.from({ length: 200 }, (_, at) => at),
  }),
  'sizes of points': pointHeads(db, [1, 2]),
  'messages of points': pointMessages(db, [1, 2]),
  'channels of points': channelsByKey(db, [1, 2]),
};

const end = commands.cloudEnd('expired', 'too late', 1);
/** What sessions, POSTs and the clock ask of commands, all the time: only what is open may count, not the history. */
const OF_OPEN_COMMANDS: Record<string, (db: Kysely<Schema>) => Promise<unknown>> = {
  'renew those of the future': (db) => commands.renewFromFuture(db, 1),
  'expire those no robot has seen': (db) => commands.expireUnbound(db, 1, end),
  'give up those nothing was heard of': (db) => commands.giveUpBound(db, 1, end),
  'bind those that wait': (db) => commands.bindWaiting(db, 1, 'inbox', 1),
  'count those that wait for a robot that is away': (db) => commands.robotReach(db, 1, false),
  'read those an inbox should get': (db) => commands.dueTo(db, 1, 'inbox', false),
  'read those an inbox should answer': (db) => commands.dueTo(db, 1, 'inbox', true),
  'count those that a connected robot has not taken': (db) => commands.robotReach(db, 1, true),
  'read those an inbox should cancel': (db) => commands.cancelsRequested(db, 1, 'inbox'),
  'end those of a lost inbox': (db) => commands.endLostInboxes(db, 1, { id: 'inbox', isStale: false }, end),
  'end those of an inbox that went back': (db) => commands.endLostInboxes(db, 1, { id: 'inbox', isStale: true }, end),
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

  it.each(Object.entries(OF_OPEN_COMMANDS))('%s: by an index that holds open commands only', async (_name, run) => {
    const queries: CompiledQuery[] = [];
    const recording = new Kysely<Schema>({
      dialect: {
        createAdapter: () => new SqliteAdapter(),
        createDriver: () => new DummyDriver(),
        createIntrospector: (of) => new SqliteIntrospector(of),
        createQueryCompiler: () => new SqliteQueryCompiler(),
      },
      log: (event) => void queries.push(event.query),
    });
    // The dummy driver has no rows to give; only what was asked matters here.
    await run(recording).catch(() => {});
    const [query] = queries;
    const plan = await planOf(query?.sql ?? '', query?.parameters ?? []);
    // The robot of a command is found by its key.
    const ofCommands = plan.filter((step) => !/^(SEARCH robots USING INTEGER PRIMARY KEY|SCALAR SUBQUERY)/.test(step));
    expect(ofCommands).toEqual([expect.stringMatching(/USING (COVERING )?INDEX commands_(open|unbound|bound) /)]);
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

  it.each(Object.entries(RETENTION_SQL))('retention’s %s: in the order of ids, or by index', async (_name, sql) => {
    const plan = await store.exclusive((raw) => {
      const statement = raw.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
      const named = sql.includes('@') ? [{ count: 1, key: 1 }] : [...sql.matchAll(/\?/g)].map(() => 1);
      return statement.all(...named).map((row) => row.detail);
    });
    const isWalk = sql.includes('ORDER BY id LIMIT ?');
    for (const line of plan.filter((detail) => !detail.startsWith('SCALAR SUBQUERY'))) {
      expect(line).toMatch(isWalk ? /^SCAN (points|vitals)$/ : /^SEARCH/);
    }
  });
});
