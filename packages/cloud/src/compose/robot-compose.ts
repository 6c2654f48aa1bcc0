/**
 * A compose file on a robot:
 *
 *     (never assigned: 404) ──assign──> pending_up ──robot──> up | error
 *     pending_up, up, error ──remove──> pending_down ──robot──> down | error
 *     any ──assign──> pending_up
 *
 * Each assignment and each removal has an id of its own. The robot's word counts for the one that it names (reports.ts): what it
 * still says of an older one changes nothing. One that was never connected can't have been told of its file: removed there,
 * the file is `down` at once.
 */
import type { AssignComposeFileBody, RemoveComposeFileQuery, RobotComposeFile } from '@drover/shared/api/compose';
import { ApiError } from '@drover/shared/api/errors';
import { v7 as uuidv7 } from 'uuid';
import type { Store } from '../db/store.js';
import type { DesiredState } from '../desired/desired.js';
import type { RobotRef } from '../robots/robots.js';
import type { ComposeFiles } from './files.js';
import { composeOfRobot } from './store.js';

export class RobotCompose {
  readonly #store: Store;
  readonly #desired: DesiredState;
  readonly #files: ComposeFiles;
  readonly #now: () => number;
  readonly #newId: () => string;

  constructor(options: {
    store: Store;
    desired: DesiredState;
    files: ComposeFiles;
    now: () => number;
    newId?: () => string;
  }) {
    this.#store = options.store;
    this.#desired = options.desired;
    this.#files = options.files;
    this.#now = options.now;
    this.#newId = options.newId ?? uuidv7;
  }

  /** @throws ApiError compose_file_not_assigned */
  async get(robot: RobotRef): Promise<RobotComposeFile> {
    const row = await composeOfRobot(this.#store.db, robot.key).executeTakeFirst();
    if (!row) throw notAssigned(robot);
    return {
      id: row.id,
      name: row.name,
      state: row.state,
      error_code: row.error_code,
      content: JSON.parse(row.content) as Record<string, unknown>,
      created_at: new Date(row.created_at_ms).toISOString(),
    };
  }

  /**
   * Puts a version of a file, the newest unless told otherwise, on the robot in place of what it had: tried anew also where it is
   * what the robot has. Returns the version.
   * @throws ApiError compose_file_not_found
   */
  async assign(robot: RobotRef, body: AssignComposeFileBody): Promise<number> {
    return await this.#desired.change(robot.key, async (tx) => {
      const file = await this.#files.row(robot.tenantKey, body.id, tx);
      const { version } = body.version === undefined ? file : await this.#files.version(file, body.version, tx);
      const assigned = {
        compose_file_key: file.key,
        version,
        state: 'pending_up',
        error_code: null,
        created_at_ms: this.#now(),
        assignment: this.#newId(),
        override_lock: body.override_lock === true ? 1 : 0,
        removal_volumes: null,
      } as const;
      await tx
        .insertInto('robot_compose')
        .values({ robot_key: robot.key, ...assigned })
        .onConflict((conflict) => conflict.column('robot_key').doUpdateSet(assigned))
        .execute();
      return version;
    });
  }

  /**
   * Takes the file off the robot, and its volumes where asked to. Once more: nothing where that is done or under way; another try
   * where it failed, where the volumes are spoken of otherwise, or where it is no longer to wait for the robot's update lock.
   * @throws ApiError compose_file_not_assigned
   */
  async remove(robot: RobotRef, { volumes, override_lock: overrides }: RemoveComposeFileQuery): Promise<void> {
    await this.#desired.change(robot.key, async (tx) => {
      const row = await composeOfRobot(tx, robot.key).executeTakeFirst();
      if (!row) throw notAssigned(robot);
      const isAskedFor = (row.removal_volumes === 1) === volumes && (row.override_lock === 1 || !overrides);
      if (row.state === 'pending_down' && isAskedFor) return;
      if (row.state === 'down' && !(volumes && row.removal_volumes === 0)) return;
      const { provisioned } = await tx
        .selectFrom('robots')
        .select('provisioned')
        .where('key', '=', robot.key)
        .executeTakeFirstOrThrow();
      await tx
        .updateTable('robot_compose')
        .set({
          state: provisioned === 1 ? 'pending_down' : 'down',
          error_code: null,
          assignment: this.#newId(),
          override_lock: overrides ? 1 : 0,
          removal_volumes: volumes ? 1 : 0,
        })
        .where('robot_key', '=', robot.key)
        .execute();
    });
  }
}

export function notAssigned(robot: RobotRef): ApiError {
  return new ApiError('compose_file_not_assigned', `robot ${robot.id} was never assigned a compose file`);
}
