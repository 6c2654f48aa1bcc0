/**
 * A compose file on a robot:
 *
 *     (never assigned: 404) ──assign──> pending_up ──robot──> up | error
 *     pending_up, up, error ──remove──> pending_down ──robot──> down | error
 *     any ──assign──> pending_up
 *
 * The robot's word ends the pending states. One that was never connected can't have been told of its file: removed there, the
 * file is `down` at once.
 */
import type { RobotComposeFile } from '@drover/shared/api/compose';
import { ApiError } from '@drover/shared/api/errors';
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

  constructor(options: { store: Store; desired: DesiredState; files: ComposeFiles; now: () => number }) {
    this.#store = options.store;
    this.#desired = options.desired;
    this.#files = options.files;
    this.#now = options.now;
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

  /** Puts the newest version of a file on the robot, in place of what it had. @throws ApiError compose_file_not_found */
  async assign(robot: RobotRef, fileId: string): Promise<void> {
    await this.#desired.change(robot.key, async (tx) => {
      const file = await this.#files.row(robot.tenantKey, fileId, tx);
      const assigned = {
        compose_file_key: file.key,
        version: file.version,
        state: 'pending_up',
        error_code: null,
        created_at_ms: this.#now(),
      } as const;
      await tx
        .insertInto('robot_compose')
        .values({ robot_key: robot.key, ...assigned })
        .onConflict((conflict) => conflict.column('robot_key').doUpdateSet(assigned))
        .execute();
    });
  }

  /** Takes the file off the robot. @throws ApiError compose_file_not_assigned */
  async remove(robot: RobotRef): Promise<void> {
    await this.#desired.change(robot.key, async (tx) => {
      const row = await composeOfRobot(tx, robot.key).executeTakeFirst();
      if (!row) throw notAssigned(robot);
      if (row.state === 'pending_down' || row.state === 'down') return;
      const { provisioned } = await tx
        .selectFrom('robots')
        .select('provisioned')
        .where('key', '=', robot.key)
        .executeTakeFirstOrThrow();
      await tx
        .updateTable('robot_compose')
        .set({ state: provisioned === 1 ? 'pending_down' : 'down', error_code: null })
        .where('robot_key', '=', robot.key)
        .execute();
    });
  }
}

function notAssigned(robot: RobotRef): ApiError {
  return new ApiError('compose_file_not_assigned', `robot ${robot.id} was never assigned a compose file`);
}
