import { CompiledQuery } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
