import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { expect, it } from 'vitest';
import { tempDir } from '../testing/cloud.js';
import { prepared } from './prepared.js';
import type { Schema } from './schema.js';
import { openStore } from './store.js';

it('builds a prepared query once, and puts each value where it belongs, each time', async () => {
  const dir = tempDir();
  const store = openStore({ dataDir: dir.path, nowMs: 0 });
  let built = 0;
  const find = prepared((db, { name, uuid }: { name: string; uuid: string }) => {
    built += 1;
    const tenants = db.selectFrom('tenants').select('name').where('created_at_ms', '=', 5);
    return tenants.where('uuid', '=', uuid).where('name', '=', name);
  });
  for (const name of ['a', 'b']) {
    await store.db
      .insertInto('tenants')
      .values({ uuid: `uuid of ${name}`, name, created_at_ms: 5 })
      .execute();
  }
  expect((await find(store.db, { name: 'a', uuid: 'uuid of a' })).rows).toEqual([{ name: 'a' }]);
  expect((await find(store.db, { name: 'b', uuid: 'uuid of b' })).rows).toEqual([{ name: 'b' }]);
  expect((await find(store.db, { uuid: 'uuid of a', name: 'b' })).rows).toEqual([]);
  const inTransaction = await store.db.transaction().execute((tx) => find(tx, { name: 'a', uuid: 'uuid of a' }));
  expect([inTransaction.rows, built]).toEqual([[{ name: 'a' }], 1]);
  await store.close();
  dir.remove();
});

it('speaks to each kind of store in its own SQL, whichever came first', async () => {
  const dir = tempDir();
  const store = openStore({ dataDir: dir.path, nowMs: 0 });
  const said: string[] = [];
  const postgres = new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    log: ({ query }) => void said.push(query.sql),
  });
  const find = prepared((db, { uuid }: { uuid: string }) =>
    db.selectFrom('tenants').select('name').where('uuid', '=', uuid),
  );
  await store.db.insertInto('tenants').values({ uuid: 'a', name: 'one', created_at_ms: 0 }).execute();
  expect((await find(store.db, { uuid: 'a' })).rows).toEqual([{ name: 'one' }]);
  await find(postgres, { uuid: 'a' });
  expect(said).toEqual(['select "name" from "tenants" where "uuid" = $1']);
  expect((await find(store.db, { uuid: 'a' })).rows).toEqual([{ name: 'one' }]);
  await postgres.destroy();
  await store.close();
  dir.remove();
});
