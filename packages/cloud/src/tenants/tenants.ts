import { v7 as newUuid } from 'uuid';
import type { Db, Store } from '../db/store.js';
import type { Keys } from '../keys/keys.js';

/** The tenant that a new store starts with. */
export const FIRST_TENANT = 'default';

export class TenantExistsError extends Error {
  override readonly name = 'TenantExistsError';
  constructor(readonly tenant: string) {
    super(`there is a tenant named ${tenant} already`);
  }
}

export class Tenants {
  readonly #store: Store;
  readonly #keys: Keys;
  readonly #now: () => number;

  constructor(options: { store: Store; keys: Keys; now: () => number }) {
    this.#store = options.store;
    this.#keys = options.keys;
    this.#now = options.now;
  }

  /**
   * Makes a tenant with a full-access key, in one transaction: there is never one that nobody can enter.
   * @throws TenantExistsError
   */
  async create(options: { name: string; secret?: string }): Promise<{ uuid: string; secret: string }> {
    const { name } = options;
    return this.#store.db.transaction().execute(async (tx) => {
      if ((await this.findKey(name, tx)) !== undefined) throw new TenantExistsError(name);
      const uuid = newUuid();
      const { key } = await tx
        .insertInto('tenants')
        .values({ uuid, name, created_at_ms: this.#now() })
        .returning('key')
        .executeTakeFirstOrThrow();
      const { secret } = options.secret === undefined ? {} : options;
      const made = await this.#keys.create({
        db: tx,
        tenantKey: key,
        name: 'first key',
        ...(secret === undefined ? {} : { secret }),
      });
      return { uuid, secret: made.secret };
    });
  }

  async findKey(name: string, db: Db = this.#store.db): Promise<number | undefined> {
    const row = await db.selectFrom('tenants').select('key').where('name', '=', name).executeTakeFirst();
    return row?.key;
  }

  /**
   * Gives a new store its first tenant. Returns how its key came about: `generated` is the only time it can be shown,
   * `undefined` means that the store had its first tenant already.
   */
  async ensureFirst(chosenSecret: string | undefined): Promise<{ secret: string; generated: boolean } | undefined> {
    if ((await this.findKey(FIRST_TENANT)) !== undefined) return undefined;
    const { secret } = await this.create({
      name: FIRST_TENANT,
      ...(chosenSecret === undefined ? {} : { secret: chosenSecret }),
    });
    return { secret, generated: chosenSecret === undefined };
  }
}
