/**
 * The rules of robots: made with a token that is shown once, found by id within their tenant, deleted at once for the
 * API and in the background on disk (deletion.ts). What the gateway knows of a robot's session is written here too.
 */

import { randomInt } from 'node:crypto';
import { ApiError } from '@drover/shared/api/errors';
import type { CreatedRobot, CreateRobotBody, Robot, UpdateRobotBody } from '@drover/shared/api/robots';
import { adjectives, nouns } from 'human-id';
import type { Bus } from '../bus/bus.js';
import { CommitGroup } from '../db/commit-group.js';
import { isUniqueViolation } from '../db/errors.js';
import { ReadGroup } from '../db/read-group.js';
import type { Db, Store } from '../db/store.js';
import type { Caller } from '../http/caller.js';
import { hashSecret, newSecret, secretHint } from '../keys/secrets.js';
import { type UnstoredPresence, withUnstored } from './online.js';
import { RobotGoneError } from './robot-gone.js';
import {
  findRobot,
  findRobotByToken,
  onlineRobotKeys,
  provisionedAs,
  type RobotRef,
  robotsOfTenant,
  setProvisioned,
  setRobotOnline,
} from './store.js';

export { type RobotRef, uidOf } from './store.js';

export class Robots {
  readonly #store: Store;
  /** What sessions begin with: all robots' at once, after a restart of ours. */
  readonly #reads: ReadGroup;
  readonly #starts: CommitGroup;
  readonly #bus: Bus;
  readonly #now: () => number;
  readonly #unstored: UnstoredPresence;
  readonly #newName: () => string;
  readonly #deleted: () => void;

  constructor(options: {
    store: Store;
    bus: Bus;
    now: () => number;
    unstored?: UnstoredPresence;
    /** A readable name for a robot that was given none. */
    newName?: () => string;
    /** Told that a robot waits for its rows to be deleted. */
    onDeleted?: () => void;
  }) {
    this.#store = options.store;
    this.#starts = new CommitGroup(options.store);
    this.#reads = new ReadGroup(options.store);
    this.#bus = options.bus;
    this.#now = options.now;
    this.#unstored = options.unstored ?? new Map();
    this.#newName = options.newName ?? twoWords;
    this.#deleted = options.onDeleted ?? (() => {});
  }

  /** All robots of a tenant, oldest first. */
  async list(tenantKey: number): Promise<Robot[]> {
    return (await robotsOfTenant(this.#store.db, tenantKey).execute()).map((row) => this.#shown(row));
  }

  /** @throws ApiError robot_not_found */
  async get(tenantKey: number, id: string): Promise<Robot> {
    const row = await robotsOfTenant(this.#store.db, tenantKey).where('robots.id', '=', id).executeTakeFirst();
    if (!row) throw robotNotFound(id);
    return this.#shown(row);
  }

  /** The robot of a path. @throws ApiError robot_not_found, also for another tenant's */
  async find(tenantKey: number, id: string, db: Db = this.#store.reads): Promise<RobotRef> {
    const [ref] = (await findRobot(db, { tenantKey, id })).rows;
    if (!ref) throw robotNotFound(id);
    return ref;
  }

  /** @throws ApiError robot_exists */
  async create(caller: Caller, body: CreateRobotBody): Promise<CreatedRobot> {
    const token = newSecret('drt_');
    const nowMs = this.#now();
    try {
      await this.#store.db
        .insertInto('robots')
        .values({
          tenant_key: caller.tenantKey,
          id: body.id,
          name: body.name ?? this.#newName(),
          token_hash: hashSecret(token),
          token_hint: secretHint(token),
          online_updated_at_ms: nowMs,
          created_at_ms: nowMs,
        })
        .execute();
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      throw new ApiError('robot_exists', `there is a robot with the id ${body.id} already`);
    }
    return { robot_id: body.id, tenant_uuid: caller.tenantUuid, token };
  }

  /** @throws ApiError robot_not_found */
  async update(tenantKey: number, id: string, body: UpdateRobotBody): Promise<void> {
    const { key } = await this.find(tenantKey, id);
    await this.#store.db.updateTable('robots').set({ name: body.name }).where('key', '=', key).execute();
  }

  /** Gives the robot a new token: the old one is refused from now on, its session ends. @throws ApiError robot_not_found */
  async rotateToken(caller: Caller, id: string): Promise<CreatedRobot> {
    const { key } = await this.find(caller.tenantKey, id);
    const token = newSecret('drt_');
    await this.#store.db
      .updateTable('robots')
      .set({ token_hash: hashSecret(token), token_hint: secretHint(token) })
      .where('key', '=', key)
      .execute();
    this.#bus.publish('robot_revoked', { robotKey: key });
    return { robot_id: id, tenant_uuid: caller.tenantUuid, token };
  }

  /** For the API it is gone at once: its token, its id, its use of a compose file. @throws ApiError robot_not_found */
  async remove(tenantKey: number, id: string): Promise<void> {
    const key = await this.#store.db.transaction().execute(async (tx) => {
      const ref = await this.find(tenantKey, id, tx);
      await tx
        .updateTable('robots')
        .set({ deleted_at_ms: this.#now(), online: 0 })
        .where('key', '=', ref.key)
        .execute();
      await tx.deleteFrom('robot_compose').where('robot_key', '=', ref.key).execute();
      await tx.deleteFrom('compose_status').where('robot_key', '=', ref.key).execute();
      return ref.key;
    });
    this.#bus.publish('robot_revoked', { robotKey: key });
    this.#deleted();
  }

  /** Whose token this is; undefined where it is nobody's (never given out, rotated, robot deleted). */
  async authenticateToken(token: string): Promise<RobotRef | undefined> {
    const tokenHash = hashSecret(token);
    return await this.#reads.run(async (db) => (await findRobotByToken(db, { tokenHash })).rows[0]);
  }

  /**
   * An agent has said hello with this robot's token.
   * @throws RobotGoneError where the robot was deleted since the token was checked: a session must not outlive it
   */
  async sessionStarted(robotKey: number, agentVersion: string): Promise<void> {
    const startedAs = async (db: Db): Promise<boolean> => {
      const [robot] = (await provisionedAs(db, { robotKey })).rows;
      if (!robot) throw new RobotGoneError(robotKey);
      return robot.provisioned === 1 && robot.agent_version === agentVersion;
    };
    // Nothing to write for a robot that comes back as it was.
    if (await this.#reads.run(startedAs)) return;
    await this.#starts.run(async (tx) => {
      if (!(await startedAs(tx))) await setProvisioned(tx, { robotKey, agentVersion });
    });
  }

  /** All in one transaction. `online_updated_at` moves only when `online` does. */
  async setOnline(changes: readonly { robotKey: number; online: boolean; atMs: number }[]): Promise<void> {
    await this.#store.db.transaction().execute(async (tx) => {
      for (const { robotKey, online, atMs } of changes) {
        const [now, was] = online ? [1, 0] : [0, 1];
        await setRobotOnline(tx, { robotKey, online: now, was, atMs: Math.floor(atMs) });
      }
    });
  }

  /** The robots that the store says are online: after a crash, more than have a session. */
  async onlineKeys(): Promise<number[]> {
    return (await onlineRobotKeys(this.#store.db).execute()).map((row) => row.key);
  }

  #shown(row: RobotRow): Robot {
    return shown(withUnstored(row, this.#unstored.get(row.key)));
  }
}

export function robotNotFound(id: string): ApiError {
  return new ApiError('robot_not_found', `there is no robot with the id ${id.slice(0, 64)}`);
}

function twoWords(): string {
  const pick = (words: readonly string[]) => words[randomInt(words.length)];
  return `${pick(adjectives)}-${pick(nouns)}`.toLowerCase();
}

type RobotRow = Awaited<ReturnType<ReturnType<typeof robotsOfTenant>['execute']>>[number];

function shown(row: RobotRow): Robot {
  return {
    id: row.id,
    name: row.name,
    provisioned: row.provisioned === 1,
    token_hint: row.token_hint,
    agent_version: row.agent_version,
    online: row.online === 1,
    online_updated_at: new Date(row.online_updated_at_ms).toISOString(),
    created_at: new Date(row.created_at_ms).toISOString(),
    vitals: { cpu: row.cpu ?? -1, battery: row.battery ?? -1, ram: row.ram ?? -1, disk: row.disk ?? -1 },
  };
}
