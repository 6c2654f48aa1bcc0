/**
 * The `idempotency-key` header: the same key and body within 24 h give the first answer again, and do nothing again.
 *
 * The claim is a row written in the same transaction as what the request makes. So there is no moment at which a kill
 * leaves the key without the thing or the thing without its key, and a concurrent twin, which waits for the writing connection
 * (on PostgreSQL: for the row), finds the answer. Nothing is ever "in progress".
 */
import { createHash } from 'node:crypto';
import { ApiError } from '@drover/shared/api/errors';
import { prepared } from '../db/prepared.js';
import type { Db, Tx } from '../db/store.js';
import type { IdempotencyTables } from './idempotency-table.js';

export const IDEMPOTENCY_HEADER = 'idempotency-key';
/** How long a key is remembered. */
export const IDEMPOTENCY_KEPT_MS = 24 * 3600 * 1000;
/** At most this many forgotten keys go in one statement. */
const SWEEP_ROWS = 1000;

/** A key is per tenant, route and robot. */
export interface Claim {
  readonly tenantKey: number;
  /** `POST /robots/{id}/commands` */
  readonly route: string;
  readonly robotKey: number;
  readonly key: string;
  /** The request's body, checked. */
  readonly body: unknown;
}

/** @throws ApiError invalid_request where the header is there but no key. */
export function checkIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (/^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/.test(header)) return header;
  const message = `the ${IDEMPOTENCY_HEADER} header must be 1 to 255 printable ASCII characters`;
  throw new ApiError('invalid_request', message, { details: [{ path: IDEMPOTENCY_HEADER, message }] });
}

/** Which row a claim is. */
type ClaimRow = Pick<IdempotencyTables['idempotency_keys'], 'tenant_key' | 'route' | 'robot_key' | 'idempotency_key'>;

const forgetQuery = prepared((db, old: ClaimRow & { until: number }) =>
  db
    .deleteFrom('idempotency_keys')
    .where((where) => where.and(keyOf(old)))
    .where('created_at_ms', '<=', old.until),
);

const claimQuery = prepared((db, made: ClaimRow & { bodyHash: string; nowMs: number }) =>
  db
    .insertInto('idempotency_keys')
    .values({ ...keyOf(made), body_hash: made.bodyHash, response: 'null', created_at_ms: made.nowMs })
    .onConflict((conflict) => conflict.doNothing()),
);

const claimedQuery = prepared((db, row: ClaimRow) =>
  db
    .selectFrom('idempotency_keys')
    .select(['body_hash', 'response'])
    .where((where) => where.and(keyOf(row))),
);

const answerQuery = prepared((db, answered: ClaimRow & { response: string }) =>
  db
    .updateTable('idempotency_keys')
    .set({ response: answered.response })
    .where((where) => where.and(keyOf(answered))),
);

/** Named one by one: what builds a prepared query may not look at its values. */
function keyOf(row: ClaimRow): ClaimRow {
  const { tenant_key, route, robot_key, idempotency_key } = row;
  return { tenant_key, route, robot_key, idempotency_key };
}

/**
 * Calls `create` unless the claim was made before, in which case it gives the answer of then. Must be called in the transaction
 * in which `create` writes, before anything else that has an effect.
 * @throws ApiError idempotency_conflict where the key came with another body.
 */
export async function once<T>(
  tx: Tx,
  claim: Claim,
  nowMs: number,
  create: () => Promise<T>,
): Promise<{ replayed: boolean; response: T }> {
  const row = {
    tenant_key: claim.tenantKey,
    route: claim.route,
    robot_key: claim.robotKey,
    idempotency_key: claim.key,
  };
  await forgetQuery(tx, { ...row, until: nowMs - IDEMPOTENCY_KEPT_MS });
  const bodyHash = hashOf(claim.body);
  const { numAffectedRows } = await claimQuery(tx, { ...row, bodyHash, nowMs });
  if (numAffectedRows === 0n) {
    const [stored] = (await claimedQuery(tx, row)).rows;
    if (stored?.body_hash !== bodyHash) {
      const message = `the ${IDEMPOTENCY_HEADER} ${claim.key} came with another body before`;
      throw new ApiError('idempotency_conflict', message);
    }
    return { replayed: true, response: JSON.parse(stored.response) as T };
  }
  const response = await create();
  await answerQuery(tx, { ...row, response: JSON.stringify(response) });
  return { replayed: false, response };
}

/** Forgets keys past their time, some at once; returns how many there were. */
export async function sweepIdempotencyKeys(db: Db, nowMs: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('idempotency_keys')
    .where('created_at_ms', 'in', (old) =>
      old
        .selectFrom('idempotency_keys')
        .select('created_at_ms')
        .where('created_at_ms', '<=', nowMs - IDEMPOTENCY_KEPT_MS)
        .orderBy('created_at_ms')
        .limit(SWEEP_ROWS),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Of the body's meaning: the order of keys and white space don't count. */
function hashOf(body: unknown): string {
  const canonical = JSON.stringify(body, (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
  return createHash('sha256').update(canonical).digest('hex');
}
