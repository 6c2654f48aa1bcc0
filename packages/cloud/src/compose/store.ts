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
    .select(['robot_compose.version', 'robot_compose.assignment'])
    .select(['robot_compose.override_lock', 'robot_compose.removal_volumes'])
    .where('robot_compose.robot_key', '=', robotKey);
}

/**
 * Robots that use a file, in whatever version: where it is assigned and not `down`, and where it still runs although another was
 * assigned since.
 */
export function robotsUsing(db: Db, file: { readonly tenantKey: number; readonly key: number; readonly id: string }) {
  return db
    .selectFrom('robots')
    .leftJoin('robot_compose', 'robot_compose.robot_key', 'robots.key')
    .leftJoin('compose_status', 'compose_status.robot_key', 'robots.key')
    .select('robots.id')
    .where('robots.tenant_key', '=', file.tenantKey)
    .where('robots.deleted_at_ms', 'is', null)
    .where((where) =>
      where.or([
        where.and([where('robot_compose.compose_file_key', '=', file.key), where('robot_compose.state', '!=', 'down')]),
        where('compose_status.running_id', '=', file.id),
      ]),
    )
    .orderBy('robots.key');
}

/** A version of a compose file. */
export function composeVersionOf(db: Db, composeFileKey: number, version: number) {
  return db
    .selectFrom('compose_versions')
    .select(['version', 'name', 'content', 'created_at_ms'])
    .where('compose_file_key', '=', composeFileKey)
    .where('version', '=', version);
}

/** The versions of a compose file without their contents, oldest first. */
export function composeVersionsOf(db: Db, composeFileKey: number) {
  return db
    .selectFrom('compose_versions')
    .select(['version', 'name', 'created_at_ms'])
    .where('compose_file_key', '=', composeFileKey)
    .orderBy('version');
}

/** What a robot told last of its compose file, and what is known of its link. */
export function composeStatusOf(db: Db, robotKey: number) {
  return db
    .selectFrom('robots')
    .leftJoin('compose_status', 'compose_status.robot_key', 'robots.key')
    .leftJoin('robot_links', 'robot_links.robot_key', 'robots.key')
    .select(['robots.online', 'robot_links.link_version'])
    .select(['compose_status.assignment', 'compose_status.running_id', 'compose_status.running_version'])
    .select(['compose_status.told', 'compose_status.reported_at_ms'])
    .where('robots.key', '=', robotKey);
}
