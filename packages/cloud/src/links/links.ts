/**
 * How robots are connected: since when, how the last session ended, their clocks' offsets, how much waits on them and what they had to
 * drop. Written in groups (db/grouped-writes.ts), the newest of each robot; a crash of ours loses the last quarter of a second,
 * and with it at most a session from the count of sessions: everything else is told again.
 */
import { ApiError } from '@drover/shared/api/errors';
import type { RobotLink, SessionEnding } from '@drover/shared/api/link';
import type { ClockOffset } from '@drover/shared/link/clock';
import type { LinkStatus } from '@drover/shared/link/link-status';
import type { Logger } from 'pino';
import { stampsOf } from '../data/stamp.js';
import { GroupedWrites } from '../db/grouped-writes.js';
import { prepared } from '../db/prepared.js';
import type { Store, Tx } from '../db/store.js';
import { type UnstoredPresence, withUnstored } from '../robots/online.js';
import type { RobotRef } from '../robots/robots.js';
import { dropsOf, keepDrops } from './drops.js';
import { missingOf, robotWithLink } from './store.js';
import type { LinkTables } from './table.js';

/** Spools of one robot whose drops wait to be written: it has one, and a second where the first was set aside. */
const SPOOLS_PENDING_MAX = 4;

type Row = LinkTables['robot_links'];

/** What came of a robot since the last write. */
interface News {
  sessions: number;
  /** Columns that changed. */
  columns: Partial<Row>;
  /** By spool: a robot may come with another one. */
  drops: Map<string, LinkStatus['drops']>;
}

export class RobotLinks {
  readonly #store: Store;
  readonly #unstored: UnstoredPresence;
  readonly #news: GroupedWrites<News>;
  /** By the columns that change: of their combinations a handful comes. */
  readonly #upserts = new Map<string, Upsert>();

  constructor(options: { store: Store; log: Logger; unstored?: UnstoredPresence }) {
    this.#store = options.store;
    this.#unstored = options.unstored ?? new Map();
    const write = (tx: Tx, robotKey: number, news: News) => this.#keep(tx, robotKey, news);
    this.#news = new GroupedWrites<News>({ ...options, what: 'the state of links', write });
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

  /** A session was admitted. */
  opened(robot: RobotRef, linkVersion: number, atMs: number): void {
    const news = this.#of(robot);
    news.sessions += 1;
    Object.assign(news.columns, { link_version: linkVersion, connected_at_ms: Math.floor(atMs) });
  }

  /** The robot's only session ended (not one that was replaced). */
  ended(robot: RobotRef, ending: SessionEnding, atMs: number): void {
    Object.assign(this.#of(robot).columns, { ending, ended_at_ms: Math.floor(atMs) });
  }

  /** The robot has measured its clock: its clock + offset = ours. */
  clockMeasured(robot: RobotRef, clock: ClockOffset, atMs: number): void {
    Object.assign(this.#of(robot).columns, {
      clock_offset_ms: clock.offset_ms,
      clock_uncertainty_ms: clock.uncertainty_ms,
      clock_measured_at_ms: Math.floor(atMs),
    });
  }

  /** @param clockOffsetMs the robot's clock + offset = ours */
  reported(robot: RobotRef, { spool, drops }: LinkStatus, clockOffsetMs: number, atMs: number): void {
    const oldest = spool.oldest_robot_ms;
    const news = this.#of(robot);
    Object.assign(news.columns, {
      spool_rows: spool.rows,
      spool_bytes: spool.bytes,
      spool_bytes_max: spool.bytes_max,
      spool_oldest_ms: oldest === null ? null : stampsOf(oldest, clockOffsetMs, atMs).stampMs,
      spool_storage: spool.storage ?? null,
      reported_at_ms: Math.floor(atMs),
    });
    // The newest stay: a robot gone mad must not hold the store's connection, nor fill our memory.
    news.drops.delete(spool.id);
    news.drops.set(spool.id, drops);
    const [first] = news.drops.keys();
    if (news.drops.size > SPOOLS_PENDING_MAX && first !== undefined) news.drops.delete(first);
  }

  /** The link of a robot as the API shows it. @throws ApiError robot_not_found */
  async of(robot: RobotRef): Promise<RobotLink> {
    const stored = await robotWithLink(this.#store.db, robot.key).executeTakeFirst();
    if (!stored) throw new ApiError('robot_not_found', `there is no robot with the id ${robot.id}`);
    const row = withUnstored(stored, this.#unstored.get(robot.key));
    const drops = await dropsOf(this.#store.db, robot.key).execute();
    const missing = await missingOf(this.#store.db, robot.key).executeTakeFirst();
    const online = row.online === 1;
    // A robot counts as online for a moment after it lost its connection; and after a crash of ours nobody saw its session end.
    const hasEnded = row.ended_at_ms !== null && row.ended_at_ms > (row.connected_at_ms ?? 0);
    const isConnected = online && !hasEnded;
    const goneAtMs = hasEnded ? row.ended_at_ms : row.online_updated_at_ms;
    return {
      online,
      connected_since: isConnected ? timestampOf(row.connected_at_ms) : null,
      disconnected_since: isConnected || row.sessions === null ? null : timestampOf(goneAtMs),
      last_disconnect:
        row.ended_at_ms === null || row.ending === null
          ? null
          : { at: new Date(row.ended_at_ms).toISOString(), cause: row.ending },
      sessions: row.sessions ?? 0,
      link_version: row.link_version,
      clock: clockOf(row),
      spool: spoolOf(row),
      drops,
      missing_rows: missing?.rows ?? 0,
      missing_found_at: timestampOf(missing?.found_at_ms ?? null),
      reported_at: timestampOf(row.reported_at_ms),
    };
  }

  #of(robot: RobotRef): News {
    return this.#news.of(robot.key, () => ({ sessions: 0, columns: {}, drops: new Map() }));
  }

  async #keep(tx: Tx, robotKey: number, { sessions, columns, drops }: News): Promise<void> {
    const [robot] = (await livingQuery(tx, { robotKey })).rows;
    // Deleted meanwhile: its rows may be gone already.
    if (!robot) return;
    await this.#upsertOf(columns)(tx, { ...columns, robot_key: robotKey, sessions });
    for (const [spoolId, counts] of drops) await keepDrops(tx, robotKey, spoolId, counts);
  }

  #upsertOf(columns: Partial<Row>): Upsert {
    const changed = Object.keys(columns).sort() as (keyof Row)[];
    const name = changed.join();
    const upsert = this.#upserts.get(name) ?? newUpsert(changed);
    this.#upserts.set(name, upsert);
    return upsert;
  }
}

const livingQuery = prepared((db, { robotKey }: { robotKey: number }) =>
  db.selectFrom('robots').select('key').where('key', '=', robotKey).where('deleted_at_ms', 'is', null),
);

type Upsert = ReturnType<typeof newUpsert>;

function newUpsert(changed: readonly (keyof Row)[]) {
  return prepared((db, values: Partial<Row> & Pick<Row, 'robot_key' | 'sessions'>) => {
    const set = Object.fromEntries(changed.map((column) => [column, values[column]]));
    const { robot_key, sessions } = values;
    return db
      .insertInto('robot_links')
      .values({ link_version: 1, connected_at_ms: 0, ...set, robot_key, sessions })
      .onConflict((conflict) =>
        conflict.column('robot_key').doUpdateSet((row) => ({
          ...set,
          sessions: row('robot_links.sessions', '+', sessions),
        })),
      );
  });
}

type LinkRow = NonNullable<Awaited<ReturnType<ReturnType<typeof robotWithLink>['executeTakeFirst']>>>;

function clockOf(row: LinkRow): RobotLink['clock'] {
  const { clock_offset_ms: offset, clock_uncertainty_ms: uncertainty, clock_measured_at_ms: atMs } = row;
  if (offset === null || uncertainty === null || atMs === null) return null;
  return {
    offset_ms: toMicros(offset),
    uncertainty_ms: toMicros(uncertainty),
    measured_at: new Date(atMs).toISOString(),
  };
}

/** Milliseconds, without digits that no clock here measures. */
function toMicros(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

function spoolOf(row: LinkRow): RobotLink['spool'] {
  const { spool_rows: rows, spool_bytes: bytes, spool_bytes_max: bytesMax } = row;
  if (rows === null || bytes === null || bytesMax === null) return null;
  return { rows, bytes, bytes_max: bytesMax, oldest: timestampOf(row.spool_oldest_ms), storage: row.spool_storage };
}

function timestampOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
