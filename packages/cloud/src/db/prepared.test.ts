import { expect, it } from 'vitest';
import { tempDir } from '../testing/cloud.js';
import { prepared } from './prepared.js';
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
