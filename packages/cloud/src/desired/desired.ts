/**
 * What a robot should do by itself, as one document with a revision. Whoever changes a part of it does so through `change`:
 * the revision grows in the same transaction, so that no document of an older revision holds a newer part's change
 * unnoticed, and the robot's session is told after the commit (a lost event costs a delay: the next hello asks anyway).
 */
import { ApiError } from '@drover/shared/api/errors';
import type { Desired } from '@drover/shared/link/desired';
import { sql } from 'kysely';
import type { Bus } from '../bus/bus.js';
import { prepared } from '../db/prepared.js';
import { ReadGroup } from '../db/read-group.js';
import type { Db, Store, Tx } from '../db/store.js';
import { RobotGoneError } from '../robots/robot-gone.js';

/** How often vitals are sampled, seconds. */
export const VITALS_PERIOD_S = 5;

/** A part of the document whose rows are another folder's: that folder is built on this one, so it is handed in. */
type Part<K extends keyof Desired> = (db: Db, robotKey: number) => Promise<Pick<Desired, K>>;

const robotQuery = prepared((db, { robotKey }: { robotKey: number }) =>
  db
    .selectFrom('robots')
    .select(['desired_revision', 'vitals_enabled', 'logs_enabled', 'logs_min_level'])
    .where('key', '=', robotKey)
    .where('deleted_at_ms', 'is', null),
);

const streamsQuery = prepared((db, { robotKey }: { robotKey: number }) =>
  db
    .selectFrom('streams')
    .select(['source', 'type', 'hz', 'enabled', 'max_message_bytes', 'max_age_s'])
    .where('robot_key', '=', robotKey)
    .orderBy('key'),
);

export class DesiredState {
  readonly #store: Store;
  /** Documents that are read: all robots' at once, after a restart of ours. */
  readonly #reads: ReadGroup;
  readonly #bus: Bus;
  readonly #compose: Part<'compose' | 'compose_removal'>;

  constructor(options: { store: Store; bus: Bus; compose: Part<'compose' | 'compose_removal'> }) {
    this.#store = options.store;
    this.#reads = new ReadGroup(options.store);
    this.#bus = options.bus;
    this.#compose = options.compose;
  }

  /** The document of now. @throws RobotGoneError */
  async forRobot(robotKey: number): Promise<Desired> {
    // One transaction: parts of two revisions must not meet in one document.
    return this.#reads.run(async (tx) => {
      const [robot] = (await robotQuery(tx, { robotKey })).rows;
      if (!robot) throw new RobotGoneError(robotKey);
      return {
        kind: 'desired',
        revision: robot.desired_revision,
        vitals: { enabled: robot.vitals_enabled === 1, period_s: VITALS_PERIOD_S },
        logs: { enabled: robot.logs_enabled === 1, min_level: robot.logs_min_level },
        streams: await streamsOf(tx, robotKey),
        ...(await this.#compose(tx, robotKey)),
      };
    });
  }

  /**
   * Runs `change` in a transaction that also raises the revision, then tells the robot's session.
   * @throws ApiError robot_not_found where the robot was deleted since it was looked up
   */
  async change<T>(robotKey: number, change: (tx: Tx) => Promise<T>): Promise<T> {
    const result = await this.#store.db.transaction().execute(async (tx) => {
      const changed = await change(tx);
      await bump(tx, robotKey);
      return changed;
    });
    this.#bus.publish('desired_changed', { robotKey });
    return result;
  }
}

async function bump(tx: Tx, robotKey: number): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('robots')
    .set({ desired_revision: sql<number>`desired_revision + 1` })
    .where('key', '=', robotKey)
    .where('deleted_at_ms', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw new ApiError('robot_not_found', 'the robot was deleted');
}

async function streamsOf(tx: Db, robotKey: number): Promise<Desired['streams']> {
  const { rows } = await streamsQuery(tx, { robotKey });
  return rows.map((row) => ({ ...row, enabled: row.enabled === 1 }));
}
