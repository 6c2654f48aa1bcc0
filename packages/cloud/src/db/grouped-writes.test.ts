import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempDir } from '../testing/cloud.js';
import { GroupedWrites } from './grouped-writes.js';
import { openStore, type Store } from './store.js';

describe('grouped writes that the store can not take', () => {
  let dir: ReturnType<typeof tempDir>;
  let store: Store;
  let lines: PassThrough;
  beforeEach(() => {
    dir = tempDir();
    store = openStore({ dataDir: dir.path, nowMs: 0 });
    lines = new PassThrough();
  });
  afterEach(async () => {
    await store.close();
    dir.remove();
  });

  /** A store that is read-only: SQLite itself refuses. */
  const readOnly = (on: boolean) => store.exclusive((raw) => void raw.pragma(`query_only = ${on ? 'ON' : 'OFF'}`));
  const names = async () => {
    const rows = await store.db.selectFrom('tenants').select(['key', 'name']).orderBy('key').execute();
    return rows.map(({ key, name }) => `${key} ${name}`);
  };
  const writes = (insists: boolean) =>
    new GroupedWrites<{ name: string }>({
      store,
      log: pino(lines),
      what: 'names',
      insists,
      write: async (tx, key, { name }) => {
        await tx.insertInto('tenants').values({ key, uuid: name, name, created_at_ms: 0 }).execute();
      },
    });
  const tell = (grouped: GroupedWrites<{ name: string }>, key: number, name: string) => {
    grouped.of(key, () => ({ name: '' })).name = name;
  };
  const refused = () => once(lines, 'data');

  it('wait for it where they must, under what came since', async () => {
    const grouped = writes(true);
    await readOnly(true);
    tell(grouped, 1, 'one');
    tell(grouped, 2, 'two');
    await refused();
    tell(grouped, 2, 'newer');
    await readOnly(false);
    await grouped.settled();
    expect(await names()).toEqual(['1 one', '2 newer']);
  });

  it('are tried again by themselves', async () => {
    const grouped = writes(true);
    await readOnly(true);
    tell(grouped, 1, 'one');
    await refused();
    await readOnly(false);
    await expect.poll(names, { timeout: 20_000 }).toEqual(['1 one']);
    await grouped.stop();
  });

  it('are left out where they are told again anyway', async () => {
    const grouped = writes(false);
    await readOnly(true);
    tell(grouped, 1, 'one');
    await refused();
    await readOnly(false);
    await grouped.settled();
    expect(await names()).toEqual([]);
  });

  it('do not keep the program from stopping', async () => {
    const grouped = writes(true);
    await readOnly(true);
    tell(grouped, 1, 'one');
    await refused();
    await grouped.stop();
    await readOnly(false);
    expect(await names()).toEqual([]);
  });
});
