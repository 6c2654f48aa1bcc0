import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore, type Store } from '../db/store.js';
import { tempDir } from '../testing/cloud.js';
import { type Claim, checkIdempotencyKey, IDEMPOTENCY_KEPT_MS, once, sweepIdempotencyKeys } from './idempotency.js';

const claim: Claim = { tenantKey: 1, route: 'POST /x', robotKey: 1, key: 'k', body: { a: 1, b: [{ c: 2, d: 3 }] } };

describe('an idempotency key', () => {
  let dir: ReturnType<typeof tempDir>;
  let store: Store;
  let made: number;
  beforeEach(() => {
    dir = tempDir();
    store = openStore({ dataDir: dir.path, nowMs: 0 });
    made = 0;
  });
  afterEach(async () => {
    await store.close();
    dir.remove();
  });

  /** As a route does it: the claim and what it makes in one transaction. */
  const post = (more: Partial<Claim> = {}, nowMs = 0, fail = false) =>
    store.db.transaction().execute((tx) =>
      once(tx, { ...claim, ...more }, nowMs, async () => {
        const name = `tenant ${made + 1}`;
        await tx.insertInto('tenants').values({ uuid: name, name, created_at_ms: nowMs }).execute();
        if (fail) throw new RangeError('the route fails');
        made += 1;
        return { name };
      }),
    );
  const tenants = async () => (await store.db.selectFrom('tenants').select('name').execute()).length;

  it('gives the first answer again, and makes nothing again', async () => {
    expect(await post()).toEqual({ replayed: false, response: { name: 'tenant 1' } });
    expect(await post()).toEqual({ replayed: true, response: { name: 'tenant 1' } });
    expect(await tenants()).toBe(1);
  });

  it('makes one thing of concurrent twins', async () => {
    const answers = await Promise.all([post(), post(), post()]);
    expect(answers.map((answer) => answer.response.name)).toEqual(['tenant 1', 'tenant 1', 'tenant 1']);
    expect(answers.filter((answer) => !answer.replayed)).toHaveLength(1);
    expect(await tenants()).toBe(1);
  });

  it('takes a body with its keys in another order as the same', async () => {
    await post();
    expect((await post({ body: { b: [{ d: 3, c: 2 }], a: 1 } })).replayed).toBe(true);
  });

  it('refuses another body', async () => {
    await post();
    await expect(post({ body: { a: 1 } })).rejects.toMatchObject({ code: 'idempotency_conflict' });
    expect(await tenants()).toBe(1);
  });

  it.each([{ tenantKey: 2 }, { route: 'POST /y' }, { robotKey: 2 }, { key: 'K' }])(
    'is another one with %j',
    async (more) => {
      await post();
      expect((await post(more)).replayed).toBe(false);
    },
  );

  it('is free again when what it was for has failed', async () => {
    await expect(post({}, 0, true)).rejects.toThrow(RangeError);
    expect((await post()).replayed).toBe(false);
    expect(await tenants()).toBe(1);
  });

  it('is remembered over a restart', async () => {
    await post();
    await store.close();
    store = openStore({ dataDir: dir.path, nowMs: 0 });
    expect(await post()).toEqual({ replayed: true, response: { name: 'tenant 1' } });
  });

  it('is forgotten after 24 hours, swept or not', async () => {
    await post();
    expect((await post({}, IDEMPOTENCY_KEPT_MS - 1)).replayed).toBe(true);
    expect((await post({}, IDEMPOTENCY_KEPT_MS)).replayed).toBe(false);
    expect(await sweepIdempotencyKeys(store.db, IDEMPOTENCY_KEPT_MS + 1)).toBe(0);
    expect(await sweepIdempotencyKeys(store.db, 2 * IDEMPOTENCY_KEPT_MS)).toBe(1);
    expect(await store.db.selectFrom('idempotency_keys').selectAll().execute()).toEqual([]);
  });

  it('is printable ASCII of 1 to 255 characters', () => {
    expect(checkIdempotencyKey(undefined)).toBeUndefined();
    for (const key of ['a', 'a b', 'x'.repeat(255)]) expect(checkIdempotencyKey(key)).toBe(key);
    for (const key of ['', ' a', 'x'.repeat(256), 'ä', 'a\u0007b']) {
      expect(() => checkIdempotencyKey(key)).toThrow(/printable ASCII/);
    }
  });
});
