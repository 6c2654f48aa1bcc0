/**
 * What robots tell of their streams. Told often and worth little by itself, it is written in groups (db/grouped-writes.ts), the newest
 * of each stream only. A report lost to a crash of ours is told again when the robot's next session opens. Bounded:
 * ROBOT_PENDING_MAX streams of a robot wait; what comes above is left out.
 */
import type { StreamStatus } from '@drover/shared/api/streams';
import type { StreamReport } from '@drover/shared/link/stream-status';
import type { Logger } from 'pino';
import { stampsOf } from '../data/stamp.js';
import { GroupedWrites } from '../db/grouped-writes.js';
import type { Store, Tx } from '../db/store.js';
import { dropsOf, keepDrops } from '../links/drops.js';
import { type UnstoredPresence, withUnstored } from '../robots/online.js';
import type { RobotRef } from '../robots/robots.js';
import { streamWithStatus } from './store.js';
import { streamNotFound } from './streams.js';

const ROBOT_PENDING_MAX = 1000;
/** There are six reasons; more would be a robot gone mad. */
const DROP_REASONS_MAX = 16;

interface Told {
  readonly report: StreamReport;
  readonly spoolId: string;
  readonly clockOffsetMs: number;
  readonly receivedMs: number;
}

export class StreamReports {
  readonly #store: Store;
  readonly #unstored: UnstoredPresence;
  /** By source. */
  readonly #told: GroupedWrites<Map<string, Told>>;

  constructor(options: { store: Store; log: Logger; unstored?: UnstoredPresence }) {
    this.#store = options.store;
    this.#unstored = options.unstored ?? new Map();
    this.#told = new GroupedWrites<Map<string, Told>>({ ...options, what: 'stream status', write: keepAll });
  }

  async start(): Promise<void> {}

  /** Writes what waits. */
  async stop(): Promise<void> {
    await this.#told.stop();
  }

  /**
   * @param told reports, and the spool whose drops they count
   * @param clockOffsetMs the robot's clock + offset = ours
   */
  reported(
    robot: RobotRef,
    told: { readonly streams: readonly StreamReport[]; readonly spool_id: string },
    clockOffsetMs: number,
    receivedMs: number,
  ): void {
    const ofRobot = this.#told.of(robot.key, () => new Map());
    for (const report of told.streams) {
      if (ofRobot.size >= ROBOT_PENDING_MAX && !ofRobot.has(report.source)) continue;
      ofRobot.set(report.source, { report, spoolId: told.spool_id, clockOffsetMs, receivedMs });
    }
  }

  /** The status of a stream as the API shows it. @throws ApiError stream_not_found */
  async statusOf(robot: RobotRef, source: string): Promise<StreamStatus> {
    const row = await streamWithStatus(this.#store.db, robot.key, source).executeTakeFirst();
    if (!row) throw streamNotFound(robot, source);
    const drops = await dropsOf(this.#store.db, robot.key, source).execute();
    const online = withUnstored(row, this.#unstored.get(robot.key)).online === 1;
    return {
      source: row.source,
      ...stateOf(row, online),
      publishers: row.publishers,
      receiving_since: timestampOf(row.receiving_since_ms),
      last_message: timestampOf(row.last_message_ms),
      rate_hz: row.rate_hz,
      drops: drops.map(({ reason, rows, bytes }) => ({ reason, rows, bytes })),
      max_message_bytes: row.max_message_bytes,
      max_age_s: row.max_age_s,
      reported_at: timestampOf(row.reported_at_ms),
      online,
    };
  }

  /** Resolves when all that was reported is written. */
  async settled(): Promise<void> {
    await this.#told.settled();
  }
}

async function keepAll(tx: Tx, robotKey: number, told: ReadonlyMap<string, Told>): Promise<void> {
  for (const one of told.values()) await keep(tx, robotKey, one);
}

/** Only where the robot has that stream still, and of that type: a late word of one that was deleted is of no interest. */
async function keep(tx: Tx, robotKey: number, { report, spoolId, clockOffsetMs, receivedMs }: Told): Promise<void> {
  const stampOf = (robotMs: number | null) =>
    robotMs === null ? null : stampsOf(robotMs, clockOffsetMs, receivedMs).stampMs;
  const status = {
    state: report.state,
    message: report.message,
    publishers: report.publishers,
    receiving_since_ms: stampOf(report.receiving_since_robot_ms),
    last_message_ms: stampOf(report.last_message_robot_ms),
    rate_hz: report.rate_hz,
    reported_at_ms: Math.floor(receivedMs),
  };
  const stream = await tx
    .selectFrom('streams')
    .select('key')
    .where('robot_key', '=', robotKey)
    .where('source', '=', report.source)
    .where('type', '=', report.type)
    .executeTakeFirst();
  if (!stream) return;
  await tx
    .insertInto('stream_status')
    .values({ robot_key: robotKey, source: report.source, ...status, drops: '[]' })
    .onConflict((conflict) => conflict.columns(['robot_key', 'source']).doUpdateSet(status))
    .execute();
  const drops = report.drops.slice(0, DROP_REASONS_MAX).map((drop) => ({ source: report.source, ...drop }));
  await keepDrops(tx, robotKey, spoolId, drops);
}

/** What was wished counts before what was told: a robot that is offline has not heard of it yet. */
function stateOf(
  row: { enabled: number; hz: number; state: StreamStatus['state'] | null; message: string | null },
  online: boolean,
): Pick<StreamStatus, 'state' | 'message'> {
  if (row.enabled === 0) {
    const body = JSON.stringify({ enabled: true, hz: row.hz });
    return { state: 'disabled', message: `the stream is disabled; PATCH it with ${body}` };
  }
  if (row.state === null || row.state === 'disabled') {
    const why = online
      ? 'the robot has told nothing of this stream yet'
      : 'the robot is offline: it learns of this stream when it connects';
    return { state: 'unknown', message: why };
  }
  if (online) return { state: row.state, message: row.message };
  const told = row.message === null ? '' : `: ${row.message}`;
  return { state: row.state, message: `the robot is offline; this is what it told last${told}` };
}

function timestampOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
