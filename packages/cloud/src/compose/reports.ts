/**
 * What robots tell of their compose files. Each word is whole, so the newest of a robot is all that counts, and they are written in
 * groups (db/grouped-writes.ts): progress comes often. What a crash of ours loses is told again when the robot's next session
 * opens; what a full disk refuses waits for it. The state changes where the robot speaks of the current assignment; what it still
 * says of an older one is shown as what runs there, and changes no state.
 */
import type { RobotComposeErrorCode, RobotComposeState } from '@drover/shared/api/compose';
import type { RobotComposeDetail, RobotComposeService } from '@drover/shared/api/compose-detail';
import { ApiError } from '@drover/shared/api/errors';
import type { ComposeStatus } from '@drover/shared/link/compose-status';
import { COMPOSE_SINCE_VERSION } from '@drover/shared/link/protocol';
import type { Logger } from 'pino';
import { stampsOf } from '../data/stamp.js';
import { GroupedWrites } from '../db/grouped-writes.js';
import type { Store, Tx } from '../db/store.js';
import type { RobotRef } from '../robots/robots.js';
import { notAssigned } from './robot-compose.js';
import { composeOfRobot, composeStatusOf } from './store.js';

/** As `compose_status.told` has it; times are stamps (data/stamp.ts), ms. */
type ToldOfCompose = Pick<ComposeStatus, 'error_message' | 'phase' | 'images' | 'engine_words' | 'held_by'> & {
  readonly failed: (Omit<NonNullable<ComposeStatus['failed']>, 'at_robot_ms'> & { readonly at_ms: number }) | null;
  readonly services: readonly (Omit<ComposeStatus['services'][number], 'since_robot_ms'> & {
    readonly since_ms: number | null;
  })[];
};

interface News {
  newest: { readonly status: ComposeStatus; readonly told: ToldOfCompose; readonly receivedMs: number } | undefined;
}

export class ComposeReports {
  readonly #store: Store;
  readonly #log: Logger;
  readonly #news: GroupedWrites<News>;

  constructor(options: { store: Store; log: Logger }) {
    this.#store = options.store;
    this.#log = options.log;
    const write = (tx: Tx, robotKey: number, news: News) => this.#keep(tx, robotKey, news);
    this.#news = new GroupedWrites<News>({ ...options, what: 'the state of compose files', write, insists: true });
  }

  async start(): Promise<void> {}

  /** Writes what waits. */
  async stop(): Promise<void> {
    await this.#news.stop();
  }

  /** Resolves when all that was told is written. */
  async settled(): Promise<void> {
    await this.#news.settled();
  }

  /** @param clockOffsetMs the robot's clock + offset = ours */
  reported(robot: RobotRef, status: ComposeStatus, clockOffsetMs: number, receivedMs: number): void {
    const stampOf = (robotMs: number) => stampsOf(robotMs, clockOffsetMs, receivedMs).stampMs;
    const { error_message, phase, images, engine_words, held_by, failed } = status;
    const told: ToldOfCompose = {
      ...{ error_message, phase, images, engine_words, held_by },
      failed: failed && withoutKey({ ...failed, at_ms: stampOf(failed.at_robot_ms) }, 'at_robot_ms'),
      services: status.services.map((service) => {
        const { since_robot_ms: sinceMs } = service;
        return withoutKey({ ...service, since_ms: sinceMs === null ? null : stampOf(sinceMs) }, 'since_robot_ms');
      }),
    };
    this.#news.of(robot.key, () => ({ newest: undefined })).newest = { status, told, receivedMs };
  }

  /** @throws ApiError compose_file_not_assigned, unavailable */
  async detail(robot: RobotRef): Promise<RobotComposeDetail> {
    const { row, status } = await this.#of(robot);
    const told = status.told === null ? null : (JSON.parse(status.told) as ToldOfCompose);
    // Of an older assignment only what runs is still true.
    const ofThis = status.assignment === row.assignment ? told : null;
    const { running_id: id, running_version: version } = status;
    const failed = ofThis?.failed;
    return {
      id: row.id,
      version: row.version,
      assignment: row.assignment,
      removal: row.removal_volumes === null ? null : { volumes: row.removal_volumes === 1 },
      override_lock: row.override_lock === 1,
      state: row.state,
      error_code: row.error_code,
      error_message: row.state === 'error' ? (ofThis?.error_message ?? null) : null,
      phase: ofThis?.phase ?? null,
      running: id === null || version === null ? null : { id, version },
      failed: failed ? withoutKey({ ...failed, at: timestampOf(failed.at_ms) }, 'at_ms') : null,
      images: ofThis?.images ?? [],
      engine_words: ofThis?.engine_words ?? null,
      held_by: ofThis?.held_by ?? null,
      online: status.online === 1,
      reported_at: status.reported_at_ms === null ? null : timestampOf(status.reported_at_ms),
    };
  }

  /** The containers of the robot's project, as it last told. @throws ApiError compose_file_not_assigned, unavailable */
  async services(robot: RobotRef): Promise<RobotComposeService[]> {
    const { status } = await this.#of(robot);
    if (status.told === null) return [];
    const { services } = JSON.parse(status.told) as ToldOfCompose;
    return services.map((service) => {
      const since = service.since_ms === null ? null : timestampOf(service.since_ms);
      return withoutKey({ ...service, since }, 'since_ms');
    });
  }

  async #of(robot: RobotRef) {
    // One transaction: the words of one assignment must not meet the state of another.
    const { row, status } = await this.#store.db.transaction().execute(async (tx) => ({
      row: await composeOfRobot(tx, robot.key).executeTakeFirst(),
      status: await composeStatusOf(tx, robot.key).executeTakeFirst(),
    }));
    if (!row || !status) throw notAssigned(robot);
    if (status.told === null && status.link_version !== null && status.link_version < COMPOSE_SINCE_VERSION) {
      const message = `robot ${robot.id} tells nothing of compose files: its agent is too old; update the agent`;
      throw new ApiError('unavailable', message);
    }
    return { row, status };
  }

  async #keep(tx: Tx, robotKey: number, { newest }: News): Promise<void> {
    if (!newest) return;
    const { status, told, receivedMs } = newest;
    const robot = await tx
      .selectFrom('robots')
      .select('id')
      .where('key', '=', robotKey)
      .where('deleted_at_ms', 'is', null)
      .executeTakeFirst();
    // Deleted meanwhile: its rows may be gone already.
    if (!robot) return;
    const values = {
      assignment: status.assignment,
      running_id: status.running?.id ?? null,
      running_version: status.running?.version ?? null,
      told: JSON.stringify(told),
      reported_at_ms: Math.floor(receivedMs),
    };
    await tx
      .insertInto('compose_status')
      .values({ robot_key: robotKey, ...values })
      .onConflict((conflict) => conflict.column('robot_key').doUpdateSet(values))
      .execute();
    const row = await composeOfRobot(tx, robotKey).executeTakeFirst();
    if (!row || row.assignment !== status.assignment) return;
    const next = nextState(row.removal_volumes === null, status);
    if (!next || (next.state === row.state && next.error_code === row.error_code)) return;
    await tx.updateTable('robot_compose').set(next).where('robot_key', '=', robotKey).execute();
    const { id, version } = row;
    this.#log.info({ robot: robot.id, compose_file: id, version, ...next }, 'the state of a compose file has changed');
  }
}

/** What the robot's word makes of the state; null where it has no sense: `down` of what it should run, say. */
function nextState(
  shouldRun: boolean,
  { state, error_code: code }: ComposeStatus,
): { state: RobotComposeState; error_code: RobotComposeErrorCode | null } | null {
  if (state === 'error') return { state, error_code: code ?? (shouldRun ? 'start_failed' : 'stop_failed') };
  const isOfRunning = state === 'pending_up' || state === 'up';
  return isOfRunning === shouldRun ? { state, error_code: null } : null;
}

function withoutKey<T extends object, K extends keyof T>(value: T, key: K): Omit<T, K> {
  const { [key]: _, ...rest } = value;
  return rest;
}

function timestampOf(ms: number): string {
  return new Date(ms).toISOString();
}
