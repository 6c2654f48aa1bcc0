/** The queries on robots. Every one that serves a request is bound to the tenant; deleted robots are in none of them. */
import { prepared } from '../db/prepared.js';
import type { Db } from '../db/store.js';

/** What other parts of the cloud know a robot by. */
export interface RobotRef {
  readonly key: number;
  readonly id: string;
  readonly tenantKey: number;
  readonly tenantUuid: string;
  readonly createdAtMs: number;
}

/**
 * What no two robots ever have in common, whatever their ids: not those of two tenants or clouds, nor one that was deleted and the
 * one made after it. The time is for a store set back to a backup, which gives out the same key again.
 */
export function uidOf({ tenantUuid, key, createdAtMs }: RobotRef): string {
  return `${tenantUuid}/${key}/${createdAtMs}`;
}

/** Robots with their latest vitals, oldest first. */
export function robotsOfTenant(db: Db, tenantKey: number) {
  return db
    .selectFrom('robots')
    .leftJoin('latest_vitals', 'latest_vitals.robot_key', 'robots.key')
    .select([
      'robots.key',
      'robots.id',
      'robots.name',
      'robots.provisioned',
      'robots.token_hint',
      'robots.agent_version',
      'robots.online',
      'robots.online_updated_at_ms',
      'robots.created_at_ms',
      'latest_vitals.cpu',
      'latest_vitals.battery',
      'latest_vitals.ram',
      'latest_vitals.disk',
    ])
    .where('robots.tenant_key', '=', tenantKey)
    .where('robots.deleted_at_ms', 'is', null)
    .orderBy('robots.key');
}

export function robotRefs(db: Db) {
  return db
    .selectFrom('robots')
    .innerJoin('tenants', 'tenants.key', 'robots.tenant_key')
    .select(['robots.key', 'robots.id', 'robots.tenant_key as tenantKey', 'tenants.uuid as tenantUuid'])
    .select('robots.created_at_ms as createdAtMs')
    .where('robots.deleted_at_ms', 'is', null);
}

export function robotById(db: Db, tenantKey: number, id: string) {
  return robotRefs(db).where('robots.tenant_key', '=', tenantKey).where('robots.id', '=', id);
}

/** The same, for each request that names a robot. */
export const findRobot = prepared((db, { tenantKey, id }: { tenantKey: number; id: string }) =>
  robotById(db, tenantKey, id),
);

export function robotByToken(db: Db, tokenHash: string) {
  return robotRefs(db).where('robots.token_hash', '=', tokenHash);
}

/*
 * What each session begins with, and each change of presence: after our own restart those come by the thousand.
 */

export const findRobotByToken = prepared((db, { tokenHash }: { tokenHash: string }) => robotByToken(db, tokenHash));

export const provisionedAs = prepared((db, { robotKey }: { robotKey: number }) =>
  db
    .selectFrom('robots')
    .select(['provisioned', 'agent_version'])
    .where('key', '=', robotKey)
    .where('deleted_at_ms', 'is', null),
);

export const setProvisioned = prepared((db, of: { robotKey: number; agentVersion: string }) =>
  db.updateTable('robots').set({ provisioned: 1, agent_version: of.agentVersion }).where('key', '=', of.robotKey),
);

/** `online_updated_at` moves only when `online` does. */
export const setRobotOnline = prepared(
  (db, { robotKey, online, was, atMs }: { robotKey: number; online: number; was: number; atMs: number }) =>
    db
      .updateTable('robots')
      .set({ online, online_updated_at_ms: atMs })
      .where('key', '=', robotKey)
      .where('online', '=', was)
      .where('deleted_at_ms', 'is', null),
);

export function onlineRobotKeys(db: Db) {
  return db.selectFrom('robots').select('key').where('online', '=', 1).where('deleted_at_ms', 'is', null);
}

export function deletedRobotKeys(db: Db) {
  return db.selectFrom('robots').select('key').where('deleted_at_ms', 'is not', null).orderBy('key');
}
