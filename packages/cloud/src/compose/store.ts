import type { Db } from '../db/store.js';

/** A tenant's compose files at their newest version, oldest first. */
export function composeFilesOfTenant(db: Db, tenantKey: number) {
  return db
    .selectFrom('compose_files')
    .innerJoin('compose_versions', (join) =>
      join
        .onRef('compose_versions.compose_file_key', '=', 'compose_files.key')
        .onRef('compose_versions.version', '=', 'compose_files.version'),
    )
    .select(['compose_files.key', 'compose_files.id', 'compose_files.version', 'compose_files.created_at_ms'])
    .select(['compose_versions.name', 'compose_versions.content'])
    .where('compose_files.tenant_key', '=', tenantKey)
    .orderBy('compose_files.key');
}

/** What a robot was assigned, at the version it was assigned. */
export function composeOfRobot(db: Db, robotKey: number) {
  return db
    .selectFrom('robot_compose')
    .innerJoin('compose_files', 'compose_files.key', 'robot_compose.compose_file_key')
    .innerJoin('compose_versions', (join) =>
      join
        .onRef('compose_versions.compose_file_key', '=', 'robot_compose.compose_file_key')
        .onRef('compose_versions.version', '=', 'robot_compose.version'),
    )
    .select(['compose_files.id', 'compose_versions.name', 'compose_versions.content'])
    .select(['robot_compose.state', 'robot_compose.error_code', 'robot_compose.created_at_ms'])
    .where('robot_compose.robot_key', '=', robotKey);
}

/** Robots that use a file, in whatever version: all but those where it is `down`. */
export function robotsUsing(db: Db, composeFileKey: number) {
  return db
    .selectFrom('robot_compose')
    .innerJoin('robots', 'robots.key', 'robot_compose.robot_key')
    .select('robots.id')
    .where('robot_compose.compose_file_key', '=', composeFileKey)
    .where('robot_compose.state', '!=', 'down')
    .orderBy('robots.key');
}
