import Sqlite, { type Database } from 'better-sqlite3';
import { CompiledQuery } from 'kysely';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { tempDir } from '../testing/cloud.js';
import { ReadGroup } from './read-group.js';
import { type Db, openStore, type Store } from './store.js';

describe('reads of one turn', () => {
  const dir = tempDir();
  let store: Store;
  beforeEach(() => {
    store = openStore({ dataDir: dir.path, nowMs: 0 });
  });
  afterEach(async () => {
    await store.close();
    dir.remove();
  });

  it('share a transaction, and one that fails takes none of the others with it', async () => {
    const reads = new ReadGroup(store);
    const order: string[] = [];
    const read = (name: string) => async (db: Db) => {
      order.push(name);
      await db.executeQuery(CompiledQuery.raw(name === 'bad' ? 'select no_such_column' : 'select 1'));
      // Within the transaction: a second one can't begin.
      await expect(db.executeQuery(CompiledQuery.raw('begin'))).rejects.toThrow(/within a transaction/);
      return name;
    };
    const results = await Promise.allSettled(['a', 'bad', 'b'].map((name) => reads.run(read(name))));
    expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed'))).toEqual([
      'a',
      'failed',
      'b',
    ]);
    expect(order).toEqual(['a', 'bad', 'b']);
    expect(await reads.run(read('c'))).toBe('c');
  });

  it('leave the store to others where one throws at once', async () => {
    const reads = new ReadGroup(store);
    const results = await Promise.allSettled([
      reads.run(() => {
        throw new RangeError('a defect');
      }),
      reads.run(async () => 'b'),
    ]);
    expect(results).toMatchObject([{ status: 'rejected', reason: new RangeError('a defect') }, { value: 'b' }]);
    await store.db.transaction().execute(async (tx) => tx.executeQuery(CompiledQuery.raw('select 1')));
  });

  it('leave the store to others where their transaction can not end', async () => {
    const reads = new ReadGroup(store);
    const prepare = Sqlite.prototype.prepare;
    const failing = vi.spyOn(Sqlite.prototype, 'prepare').mockImplementation(function (this: Database, sql: string) {
      if (sql === 'commit') throw new Error('disk I/O error');
      return prepare.call(this, sql);
    });
    await expect(reads.run(async () => 'a').then(() => store.exclusive((raw) => raw.inTransaction))).resolves.toBe(
      false,
    );
    failing.mockRestore();
    expect(await reads.run(async () => 'b')).toBe('b');
    await store.db.transaction().execute(async (tx) => tx.executeQuery(CompiledQuery.raw('select 1')));
  });
});

describe('the connection', () => {
  it('is given to those who wait in the order in which they came, whatever comes meanwhile', async () => {
    const dir = tempDir();
    const store = openStore({ dataDir: dir.path, nowMs: 0 });
    const order: number[] = [];
    const use = (at: number) =>
      store.exclusive(() => {
        order.push(at);
      });
    const first = store.db.connection().execute(async () => {
      await new Promise((resolve) => setImmediate(resolve));
    });
    const waiting = [0, 1, 2].map(use);
    await first;
    await Promise.all([...waiting, use(3), use(4)]);
    expect(order).toEqual([0, 1, 2, 3, 4]);
    await expect(store.db.executeQuery(CompiledQuery.raw('select no_such_column'))).rejects.toThrow();
    await use(5);
    expect(order).toHaveLength(6);
    await store.close();
    dir.remove();
  });
});
