/** API keys: made, found by what a request carries, listed and revoked. A revoked key fails from the next request on. */
import { ALL_SCOPES, type Scope, scope } from '@drover/shared/api/keys';
import { v7 as newUuid } from 'uuid';
import { z } from 'zod';
import { prepared } from '../db/prepared.js';
import type { Db, Store } from '../db/store.js';
import type { Caller } from '../http/caller.js';
import { hashSecret, newSecret, secretHint } from './secrets.js';

/** A key that an operator chooses must be long enough not to be guessed. */
export const CHOSEN_KEY_LENGTH_MIN = 20;

export interface KeyRow {
  readonly uuid: string;
  readonly tenant: string;
  readonly name: string;
  readonly hint: string;
  readonly scopes: readonly Scope[];
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
}

const storedScopes = z.array(scope);

/** Sets of scopes kept, by their stored text: keys have a handful of different ones. */
const SCOPE_SETS_MAX = 100;

/** Looked up for each request, so that a key revoked by whatever process is refused from the next one on. */
const liveKey = prepared((db, { secretHash }: { secretHash: string }) =>
  db
    .selectFrom('api_keys')
    .innerJoin('tenants', 'tenants.key', 'api_keys.tenant_key')
    .select(['api_keys.uuid', 'api_keys.tenant_key', 'tenants.uuid as tenant_uuid', 'api_keys.scopes'])
    .where('api_keys.secret_hash', '=', secretHash)
    .where('api_keys.revoked_at_ms', 'is', null),
);

export class Keys {
  readonly #db: Db;
  readonly #reads: Db;
  readonly #now: () => number;
  readonly #scopeSets = new Map<string, ReadonlySet<Scope>>();

  constructor(options: { store: Pick<Store, 'db' | 'reads'>; now: () => number }) {
    this.#db = options.store.db;
    this.#reads = options.store.reads;
    this.#now = options.now;
  }

  /** Whose key this is; undefined where it is nobody's or was revoked. */
  readonly authenticate = async (secret: string): Promise<Caller | undefined> => {
    const [row] = (await liveKey(this.#reads, { secretHash: hashSecret(secret) })).rows;
    if (!row) return undefined;
    const scopes = this.#scopeSet(row.scopes);
    return { tenantKey: row.tenant_key, tenantUuid: row.tenant_uuid, keyUuid: row.uuid, scopes };
  };

  #scopeSet(stored: string): ReadonlySet<Scope> {
    const kept = this.#scopeSets.get(stored);
    if (kept) return kept;
    const scopes = new Set(storedScopes.parse(JSON.parse(stored)));
    if (this.#scopeSets.size >= SCOPE_SETS_MAX) this.#scopeSets.clear();
    this.#scopeSets.set(stored, scopes);
    return scopes;
  }

  /** Makes a key and returns its secret, which is not stored and can't be shown again. */
  async create(options: {
    db?: Db;
    tenantKey: number;
    name: string;
    scopes?: readonly Scope[];
    secret?: string;
  }): Promise<{ uuid: string; secret: string }> {
    const secret = options.secret ?? newSecret('drk_');
    const uuid = newUuid();
    await (options.db ?? this.#db)
      .insertInto('api_keys')
      .values({
        uuid,
        tenant_key: options.tenantKey,
        name: options.name,
        hint: keyHint(secret),
        secret_hash: hashSecret(secret),
        scopes: JSON.stringify(options.scopes ?? ALL_SCOPES),
        created_at_ms: this.#now(),
      })
      .execute();
    return { uuid, secret };
  }

  /** Every key of every tenant, oldest first: for the operator of the store. */
  async listAll(): Promise<KeyRow[]> {
    const rows = await this.#db
      .selectFrom('api_keys')
      .innerJoin('tenants', 'tenants.key', 'api_keys.tenant_key')
      .selectAll('api_keys')
      .select('tenants.name as tenant')
      .orderBy('api_keys.key')
      .execute();
    return rows.map((row) => ({
      uuid: row.uuid,
      tenant: row.tenant,
      name: row.name,
      hint: row.hint,
      scopes: storedScopes.parse(JSON.parse(row.scopes)),
      createdAtMs: row.created_at_ms,
      revokedAtMs: row.revoked_at_ms,
    }));
  }

  /** Revokes a key; false where there is no live one of this uuid. */
  async revoke(uuid: string): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable('api_keys')
      .set({ revoked_at_ms: this.#now() })
      .where('uuid', '=', uuid)
      .where('revoked_at_ms', 'is', null)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }
}

/** A chosen key has no prefix that could be shown for nothing: less of it is. */
function keyHint(secret: string): string {
  return secret.startsWith('drk_') ? secretHint(secret) : `${secret.slice(0, 4)}************${secret.slice(-3)}`;
}
