/** What operators do to the store without the API. Each opens the store, acts, and closes it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ALL_SCOPES, type Scope, scope } from '@drover/shared/api/keys';
import type { Config } from '../config.js';
import { backUpStore } from '../db/backup.js';
import { openStore, STORE_FILE, type Store } from '../db/store.js';
import { Keys } from '../keys/keys.js';
import { Tenants } from '../tenants/tenants.js';

type Out = (line: string) => void;

/** What was asked for can't be done as asked; the message says what to do instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

interface Open {
  readonly store: Store;
  readonly keys: Keys;
  readonly tenants: Tenants;
}

async function withStore(config: Config, mayBeNew: boolean, act: (open: Open) => Promise<void>): Promise<void> {
  const now = Date.now;
  if (!mayBeNew && !existsSync(join(config.dataDir, STORE_FILE))) {
    throw new UsageError(`there is no store in ${config.dataDir}: set DROVER_DATA_DIR, or start the cloud once`);
  }
  const store = openStore({ dataDir: config.dataDir, nowMs: now() });
  try {
    const keys = new Keys({ store, now });
    await act({ store, keys, tenants: new Tenants({ store, keys, now }) });
  } finally {
    await store.close();
  }
}

export async function backUp(config: Config, target: string, out: Out): Promise<void> {
  const { file, bytes } = backUpStore(config.dataDir, target);
  out(`${file}  ${bytes} bytes`);
}

export async function createTenant(config: Config, name: string, out: Out): Promise<void> {
  if (!/^[A-Za-z0-9][A-Za-z0-9_. -]{0,63}$/.test(name)) {
    throw new UsageError('a tenant’s name is 1 to 64 letters, digits, spaces, dots, hyphens or underscores');
  }
  await withStore(config, true, async ({ tenants }) => {
    const { secret } = await tenants.create({ name });
    out(secret);
  });
}

export async function createKey(
  config: Config,
  options: { name: string; tenant: string; scopes?: string },
  out: Out,
): Promise<void> {
  const scopes = options.scopes === undefined ? ALL_SCOPES : parseScopes(options.scopes);
  await withStore(config, false, async ({ keys, tenants }) => {
    const tenantKey = await tenants.findKey(options.tenant);
    if (tenantKey === undefined) throw new UsageError(`there is no tenant named ${options.tenant}`);
    const { secret } = await keys.create({ tenantKey, name: options.name, scopes });
    out(secret);
  });
}

export async function listKeys(config: Config, json: boolean, out: Out): Promise<void> {
  await withStore(config, false, async ({ keys }) => {
    for (const key of await keys.listAll()) {
      const created = new Date(key.createdAtMs).toISOString();
      const revoked = key.revokedAtMs === null ? null : new Date(key.revokedAtMs).toISOString();
      const { uuid, tenant, name, hint, scopes } = key;
      if (json) {
        out(JSON.stringify({ uuid, tenant, name, hint, scopes, created_at: created, revoked_at: revoked }));
      } else {
        const may = scopes.length === ALL_SCOPES.length ? 'all' : scopes.join(',');
        const state = revoked === null ? 'live' : `revoked ${revoked}`;
        out([uuid, tenant, name, hint, may, `created ${created}`, state].join('  '));
      }
    }
  });
}

export async function revokeKey(config: Config, uuid: string, out: Out): Promise<void> {
  await withStore(config, false, async ({ keys }) => {
    if (!(await keys.revoke(uuid))) throw new UsageError(`there is no live key with the uuid ${uuid}`);
    out(`revoked ${uuid}`);
  });
}

function parseScopes(text: string): Scope[] {
  return text.split(',').map((part) => {
    const known = scope.safeParse(part.trim());
    if (!known.success) throw new UsageError(`${part.trim()} is no scope; there are ${ALL_SCOPES.join(', ')}`);
    return known.data;
  });
}
