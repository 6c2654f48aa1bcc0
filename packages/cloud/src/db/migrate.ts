import type { Database } from 'better-sqlite3';
import { MIGRATIONS, type Migration } from './migrations/migrations.js';

/** The store was written by a newer release than this one. */
export class StoreTooNewError extends Error {
  override readonly name = 'StoreTooNewError';
  constructor(
    readonly storeVersion: number,
    readonly programVersion: number,
  ) {
    super(
      `the store is at schema version ${storeVersion}, this release knows versions up to ${programVersion}: ` +
        'start the newer release again, or restore a backup made before the upgrade',
    );
  }
}

/**
 * Brings the store to the newest schema, each migration in a transaction of its own with its version row: a crash
 * between two leaves a store that the next start takes on from there. Two processes that start at once take turns.
 * @throws StoreTooNewError where the store is ahead of the program.
 */
export function migrate(raw: Database, nowMs: number, migrations: readonly Migration[] = MIGRATIONS): void {
  raw.exec(
    'CREATE TABLE IF NOT EXISTS schema_versions ' +
      '(version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at_ms INTEGER NOT NULL) STRICT',
  );
  const current = raw.prepare<[], number>('SELECT coalesce(max(version), 0) FROM schema_versions').pluck();
  const record = raw.prepare('INSERT INTO schema_versions (version, name, applied_at_ms) VALUES (?, ?, ?)');
  const apply = raw.transaction((migration: Migration) => {
    if ((current.get() ?? 0) >= migration.version) return;
    raw.exec(migration.sql);
    record.run(migration.version, migration.name, nowMs);
  });
  const newest = migrations.at(-1)?.version ?? 0;
  const found = current.get() ?? 0;
  if (found > newest) throw new StoreTooNewError(found, newest);
  for (const migration of migrations) {
    if (migration.version > found) apply.immediate(migration);
  }
}
