import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { STORE_FILE } from '@drover/cloud/dist/db/store.js';
import { hashSecret, secretHint } from '@drover/cloud/dist/keys/secrets.js';
import Sqlite from 'better-sqlite3';

/**
 * So many robots `robot-0`, `robot-1`, … of the first tenant, in the store of a cloud that does not run: ten thousand POSTs would take
 * longer than what is measured. Returns their tokens.
 */
export function seedRobots(dataDir: string, count: number): string[] {
  const db = new Sqlite(join(dataDir, STORE_FILE));
  const tenant = db.prepare('SELECT key FROM tenants ORDER BY key LIMIT 1').pluck().get();
  const insert = db.prepare(
    `INSERT INTO robots (tenant_key, id, name, token_hash, token_hint, online_updated_at_ms, created_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const nowMs = Date.now();
  const tokens = Array.from({ length: count }, () => `drt_${randomUUID()}`);
  db.transaction(() => {
    for (const [at, token] of tokens.entries()) {
      insert.run(tenant, `robot-${at}`, `robot ${at}`, hashSecret(token), secretHint(token), nowMs, nowMs);
    }
  })();
  db.close();
  return tokens;
}
