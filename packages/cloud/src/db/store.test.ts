import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { uuid } from '@drover/shared/link/fields';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempDir } from '../testing/cloud.js';
import { migrate, StoreTooNewError } from './migrate.js';
import { MIGRATIONS } from './migrations/migrations.js';
import { prepared } from './prepared.js';
import { DataDirInUseError, SERVING_LOCK_FILE, takeServingLock } from './serving-lock.js';
import { openStore, STORE_FILE } from './store.js';

describe('the store', () => {
  let dir: ReturnType<typeof tempDir>;
  beforeEach(() => {
    dir = tempDir();
  });
  afterEach(() => dir.remove());

  const tenant = (name: string) => ({ uuid: name, name, created_at_ms: 1 });
  const names = async (store: ReturnType<typeof openStore>) =>
    (await store.db.selectFrom('tenants').select('name').orderBy('key').execute()).map((row) => row.name);

  it('keeps what was committed over a reopening', async () => {
    const first = openStore({ dataDir: dir.path, nowMs: 1 });
    await first.db.insertInto('tenants').values(tenant('one')).execute();
    await first.close();
    const second = openStore({ dataDir: dir.path, nowMs: 2 });
    expect(await names(second)).toEqual(['one']);
    await second.close();
  });

  it('writes through: WAL, synchronous=FULL, foreign keys on', async () => {
    const store = openStore({ dataDir: dir.path, nowMs: 1 });
    const settings = await store.exclusive((raw) =>
      ['journal_mode', 'synchronous', 'foreign_keys', 'journal_size_limit'].map((name) =>
        raw.pragma(name, { simple: true }),
      ),
    );
    expect(settings).toEqual(['wal', 2, 1, 64 * 1024 * 1024]);
    await store.close();
  });

  it('refuses a store of a newer release, and leaves it alone', async () => {
    await openStore({ dataDir: dir.path, nowMs: 1 }).close();
    const raw = new Sqlite(join(dir.path, STORE_FILE));
    raw.exec(`INSERT INTO schema_versions VALUES (99, 'from the future', 1)`);
    raw.close();
    expect(() => openStore({ dataDir: dir.path, nowMs: 1 })).toThrow(StoreTooNewError);
  });

  it('goes on with a migration where a crash or a failure left it', () => {
    const raw = new Sqlite(join(dir.path, 'migrating.db'));
    const one = { version: 1, name: 'one', sql: 'CREATE TABLE a (x INTEGER) STRICT' };
    const broken = { version: 2, name: 'two', sql: 'CREATE TABLE b (x INTEGER) STRICT; CREATE TABLE a (y)' };
    expect(() => migrate(raw, 1, [one, broken])).toThrow(/already exists/);
    const tables = () =>
      raw.prepare(`SELECT name FROM sqlite_schema WHERE name IN ('a', 'b') ORDER BY 1`).pluck().all();
    expect(tables()).toEqual(['a']);
    migrate(raw, 2, [one, { ...broken, sql: 'CREATE TABLE b (x INTEGER) STRICT' }]);
    migrate(raw, 3, [one, { ...broken, sql: 'would fail if it ran again' }]);
    expect(tables()).toEqual(['a', 'b']);
    expect(raw.prepare('SELECT version, applied_at_ms AS at FROM schema_versions').all()).toEqual([
      { version: 1, at: 1 },
      { version: 2, at: 2 },
    ]);
    raw.close();
  });

  it('takes over what robots told of their drops, also where one said a reason twice', () => {
    const raw = new Sqlite(':memory:');
    migrate(raw, 1, MIGRATIONS.slice(0, 3));
    raw.exec(`
      INSERT INTO tenants (key, uuid, name, created_at_ms) VALUES (1, 'uuid', 'one', 1);
      INSERT INTO robots (key, tenant_key, id, name, token_hash, token_hint, online_updated_at_ms, created_at_ms)
      VALUES (1, 1, 'rover-1', '', '', '', 1, 1);
      INSERT INTO spools (robot_key, spool_id, lane, acked_seq) VALUES (1, 'spool-1', 'live', 5);
    `);
    const drops = [3, 7].map((rows) => ({ reason: 'spool_full', rows, bytes: rows * 10 }));
    raw
      .prepare("INSERT INTO stream_status VALUES (1, '/odom', 'waiting', NULL, 0, NULL, NULL, NULL, ?, 1)")
      .run(JSON.stringify([...drops, { reason: 'too_old', rows: 1, bytes: 2 }]));
    migrate(raw, 2);
    expect(raw.prepare('SELECT reason, rows, bytes FROM spool_drops').all()).toEqual([
      { reason: 'spool_full', rows: 7, bytes: 70 },
      { reason: 'too_old', rows: 1, bytes: 2 },
    ]);
    raw.close();
  });

  it('gives what was assigned before an id, and what was removed before its removal', () => {
    const raw = new Sqlite(':memory:');
    migrate(raw, 1, MIGRATIONS.slice(0, 6));
    raw.exec(`
      INSERT INTO tenants (key, uuid, name, created_at_ms) VALUES (1, 'uuid', 'one', 1);
      INSERT INTO compose_files VALUES (1, 1, 'stack', 1, 1);
      INSERT INTO compose_versions VALUES (1, 1, 'stack', '{}', 1);
    `);
    const states = ['pending_up', 'up', 'error', 'pending_down', 'down'];
    for (const [key, state] of states.entries()) {
      raw
        .prepare(
          `INSERT INTO robots (key, tenant_key, id, name, token_hash, token_hint, online_updated_at_ms, created_at_ms)
           VALUES (?, 1, ?, '', ?, '', 1, 1)`,
        )
        .run(key, state, state);
      raw.prepare('INSERT INTO robot_compose VALUES (?, 1, 1, ?, NULL, 1)').run(key, state);
    }
    migrate(raw, 2);
    const rows = raw
      .prepare<[], { assignment: string; removal: number | null }>(
        'SELECT assignment, removal_volumes AS removal FROM robot_compose ORDER BY robot_key',
      )
      .all();
    expect(rows.map(({ removal }) => removal)).toEqual([null, null, null, 0, 0]);
    expect(new Set(rows.map(({ assignment }) => assignment)).size).toBe(states.length);
    for (const { assignment } of rows) expect(uuid.safeParse(assignment).success).toBe(true);
    raw.close();
  });

  it('never runs the ingest path inside someone else’s transaction', async () => {
    const store = openStore({ dataDir: dir.path, nowMs: 1 });
    const order: string[] = [];
    const transaction = store.db.transaction().execute(async (tx) => {
      await tx.insertInto('tenants').values(tenant('one')).execute();
      // Turns of the event loop in which a second connection would wait for this one, for ever.
      for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      order.push('transaction');
    });
    const exclusive = store.exclusive((raw) => {
      order.push(raw.inTransaction ? 'inside' : 'exclusive');
    });
    await Promise.all([transaction, exclusive]);
    expect(order).toEqual(['transaction', 'exclusive']);
    await store.close();
  });

  it('reads what is committed at once while a transaction is under way, and what it wrote after its commit', async () => {
    const store = openStore({ dataDir: dir.path, nowMs: 1 });
    const find = prepared((db, { name }: { name: string }) =>
      db.selectFrom('tenants').select('name').where('name', '=', name),
    );
    const read = async () => (await find(store.reads, { name: 'one' })).rows;
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    let end = () => {};
    const ending = new Promise<void>((resolve) => {
      end = resolve;
    });
    const transaction = store.db.transaction().execute(async (tx) => {
      await tx.insertInto('tenants').values(tenant('one')).execute();
      expect((await find(tx, { name: 'one' })).rows).toEqual([{ name: 'one' }]);
      begin();
      await ending;
    });
    await begun;
    expect(await read()).toEqual([]);
    end();
    await transaction;
    expect(await read()).toEqual([{ name: 'one' }]);
    await store.close();
  });

  it('brings the log into the file when it is closed, and never writes by the connection that reads', async () => {
    const store = openStore({ dataDir: dir.path, nowMs: 1 });
    await expect(store.reads.insertInto('tenants').values(tenant('one')).execute()).rejects.toThrow(/readonly/);
    await store.db.insertInto('tenants').values(tenant('two')).execute();
    expect(await names({ ...store, db: store.reads })).toEqual(['two']);
    await store.close();
    expect(existsSync(join(dir.path, `${STORE_FILE}-wal`))).toBe(false);
  });

  it('takes turns with another process that writes', async () => {
    const serving = openStore({ dataDir: dir.path, nowMs: 1 });
    const command = openStore({ dataDir: dir.path, nowMs: 1 });
    await serving.db.transaction().execute(async (tx) => {
      // A reader that turned writer would fail here with SQLITE_BUSY_SNAPSHOT, had the other written in between.
      await tx.selectFrom('tenants').selectAll().execute();
      await tx.insertInto('tenants').values(tenant('serving')).execute();
    });
    await command.db.insertInto('tenants').values(tenant('command')).execute();
    expect(await names(serving)).toEqual(['serving', 'command']);
    await serving.close();
    await command.close();
  });
});

describe('the serving lock', () => {
  let dir: ReturnType<typeof tempDir>;
  beforeEach(() => {
    dir = tempDir();
  });
  afterEach(() => dir.remove());

  it('is held by one at a time, and given back', () => {
    const release = takeServingLock(dir.path);
    expect(() => takeServingLock(dir.path)).toThrow(DataDirInUseError);
    release();
    takeServingLock(dir.path)();
  });

  it('does not keep commands from the store', async () => {
    const release = takeServingLock(dir.path);
    await openStore({ dataDir: dir.path, nowMs: 1 }).close();
    release();
  });

  it('ends with the process that held it, also by kill -9', async () => {
    const script = `
      const Sqlite = require('better-sqlite3');
      const file = new Sqlite(process.argv[1]);
      file.exec('BEGIN EXCLUSIVE');
      process.send('locked');
      setInterval(() => {}, 1000);
    `;
    const file = join(dir.path, SERVING_LOCK_FILE);
    const child = spawn(process.execPath, ['-e', script, file], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    await once(child, 'message');
    expect(() => takeServingLock(dir.path)).toThrow(DataDirInUseError);
    child.kill('SIGKILL');
    await once(child, 'exit');
    takeServingLock(dir.path)();
  });
});
