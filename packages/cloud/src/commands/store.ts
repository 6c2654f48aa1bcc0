import { type RawBuilder, type Selectable, sql } from 'kysely';
import { prepared } from '../db/prepared.js';
import type { Db, Tx } from '../db/store.js';
import type { CommandState, CommandsTable } from './table.js';

export type CommandRow = Selectable<CommandsTable>;
export type ShownCommandRow = CommandRow & { robot_id: string };
export type OutcomeRow = Pick<
  CommandRow,
  | 'uuid'
  | 'state'
  | 'error_code'
  | 'message'
  | 'result'
  | 'feedback'
  | 'created_at_ms'
  | 'sent_at_ms'
  | 'finished_at_ms'
>;
export type ListedCommandRow = Awaited<ReturnType<ReturnType<typeof listedCommands>['execute']>>[number];
export type NewCommand = Pick<
  CommandRow,
  | 'uuid'
  | 'tenant_key'
  | 'robot_key'
  | 'interface'
  | 'name'
  | 'type'
  | 'payload'
  | 'latched'
  | 'timeout_ms'
  | 'created_at_ms'
  | 'deadline_ms'
  | 'give_up_ms'
  | 'state'
  | 'error_code'
  | 'message'
  | 'inbox_id'
  | 'finished_at_ms'
  | 'ended_by'
>;

export interface CommandFilter {
  tenantKey: number;
  robotKey?: number | undefined;
  /** Any text; one that is no state finds nothing. */
  state?: string | undefined;
  interface?: string | undefined;
  name?: string | undefined;
  offset: number;
  limit: number;
}

/** How a command ends. */
export interface End {
  state: 'executed' | 'error';
  error_code: string | null;
  message: string | null;
  result: string | null;
  feedback: string | null;
  finished_at_ms: number;
  ended_by: 'cloud' | 'robot';
}

/** An end without a result, by the cloud. */
export function cloudEnd(errorCode: string, message: string, finishedMs: number): Omit<End, 'feedback' | 'result'> {
  return { state: 'error', error_code: errorCode, message, finished_at_ms: finishedMs, ended_by: 'cloud' };
}

/** A clock that is disciplined by NTP may go back by less. */
const SET_BACK_LEAST_MS = 1_000;

/**
 * Written out, not as parameters: SQLite uses an index over a part of the rows only where the statement itself says that it
 * stays within that part. Without it each of these would read every command there ever was.
 */
const isOpen = sql<boolean>`state in ('created', 'sent')`;
const isUnbound = sql<boolean>`state = 'created' and inbox_id is null`;

const insertQuery = prepared((db, command: NewCommand) =>
  db.insertInto('commands').values({
    uuid: command.uuid,
    tenant_key: command.tenant_key,
    robot_key: command.robot_key,
    interface: command.interface,
    name: command.name,
    type: command.type,
    payload: command.payload,
    latched: command.latched,
    timeout_ms: command.timeout_ms,
    created_at_ms: command.created_at_ms,
    deadline_ms: command.deadline_ms,
    give_up_ms: command.give_up_ms,
    state: command.state,
    error_code: command.error_code,
    message: command.message,
    inbox_id: command.inbox_id,
    finished_at_ms: command.finished_at_ms,
    ended_by: command.ended_by,
  } satisfies Record<keyof NewCommand, unknown>),
);

export async function insertCommand(db: Db, command: NewCommand): Promise<void> {
  await insertQuery(db, command);
}

/** A page, newest first: which commands, and how many bytes their payloads have. */
export function listCommands(db: Db, filter: CommandFilter) {
  let query = db
    .selectFrom('commands')
    .innerJoin('robots', 'robots.key', 'commands.robot_key')
    .select('commands.key')
    .select((select) => select.fn<number>('octet_length', ['commands.payload']).as('bytes'))
    .where('commands.tenant_key', '=', filter.tenantKey);
  query =
    filter.robotKey === undefined
      ? query.where('robots.deleted_at_ms', 'is', null)
      : query.where('commands.robot_key', '=', filter.robotKey);
  if (filter.state !== undefined) query = query.where('commands.state', '=', filter.state as CommandState);
  if (filter.interface !== undefined)
    query = query.where('commands.interface', '=', filter.interface as CommandRow['interface']);
  if (filter.name !== undefined) query = query.where('commands.name', '=', filter.name);
  return query.orderBy('commands.key', 'desc').limit(filter.limit).offset(filter.offset);
}

/** What a list shows of these commands, newest first; without their results, which may be large. */
export function listedCommands(db: Db, keys: readonly number[]) {
  return db
    .selectFrom('commands')
    .innerJoin('robots', 'robots.key', 'commands.robot_key')
    .select(['commands.uuid', 'commands.state', 'commands.error_code', 'commands.interface', 'commands.name'])
    .select(['commands.type', 'commands.payload', 'commands.created_at_ms', 'robots.id as robot_id'])
    .where('commands.key', 'in', [...keys])
    .orderBy('commands.key', 'desc');
}

const findQuery = prepared((db, { tenantKey, uuid }: { tenantKey: number; uuid: string }) =>
  db
    .selectFrom('commands')
    .innerJoin('robots', 'robots.key', 'commands.robot_key')
    .select('robots.id as robot_id')
    .selectAll('commands')
    .where('commands.uuid', '=', uuid)
    .where('commands.tenant_key', '=', tenantKey)
    .where('robots.deleted_at_ms', 'is', null),
);

const outcomeQuery = prepared((db, { tenantKey, uuid }: { tenantKey: number; uuid: string }) =>
  db
    .selectFrom('commands')
    .innerJoin('robots', 'robots.key', 'commands.robot_key')
    .select(['commands.uuid', 'commands.state', 'commands.error_code', 'commands.message', 'commands.result'])
    .select(['commands.feedback', 'commands.created_at_ms', 'commands.sent_at_ms', 'commands.finished_at_ms'])
    .where('commands.uuid', '=', uuid)
    .where('commands.tenant_key', '=', tenantKey)
    .where('robots.deleted_at_ms', 'is', null),
);

/** How it ended, or how far it has come; without its payload. Asked again and again by whoever waits for the end. */
export async function findOutcome(db: Db, tenantKey: number, uuid: string): Promise<OutcomeRow | undefined> {
  return (await outcomeQuery(db, { tenantKey, uuid })).rows[0];
}

export async function findCommand(db: Db, tenantKey: number, uuid: string): Promise<ShownCommandRow | undefined> {
  return (await findQuery(db, { tenantKey, uuid })).rows[0];
}

/** Of the robot, with how many of its open commands wait by `isWaiting`. */
const reachOf = (isWaiting: RawBuilder<boolean>) =>
  prepared((db, { robotKey }: { robotKey: number }) =>
    db
      .selectFrom('robots')
      .select(['provisioned', 'online'])
      .select((of) =>
        of
          .selectFrom('commands')
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .where('robot_key', '=', robotKey)
          .where(isOpen)
          .where(isWaiting)
          .as('waiting'),
      )
      .where('key', '=', robotKey)
      .where('deleted_at_ms', 'is', null),
  );
const reachUnbound = reachOf(isUnbound);
const reachUntaken = reachOf(sql<boolean>`state = 'created'`);

/**
 * What a new command's fate hangs on, as the store has it now. `waiting`: how many wait for the robot; where it is connected those
 * that were written, or may have been, to an inbox of its that has not said that it took them, else those that were not.
 */
export async function robotReach(db: Db, robotKey: number, isConnected: boolean) {
  const row = (await (isConnected ? reachUntaken : reachUnbound)(db, { robotKey })).rows[0];
  return row && { ...row, waiting: row.waiting ?? 0 };
}

const anyOpenQuery = prepared((db, { robotKey }: { robotKey: number }) =>
  db.selectFrom('commands').select('key').where('robot_key', '=', robotKey).where(isOpen).limit(1),
);

/** Whether any of the robot's commands has not ended: mostly none has, and nothing is to be looked for. */
export async function hasOpen(db: Db, robotKey: number): Promise<boolean> {
  return (await anyOpenQuery(db, { robotKey })).rows.length > 0;
}

const bindQuery = prepared((db, { robotKey, inboxId, nowMs }: { robotKey: number; inboxId: string; nowMs: number }) =>
  db
    .updateTable('commands')
    .set({ inbox_id: inboxId })
    .where('robot_key', '=', robotKey)
    .where(isOpen)
    .where(isUnbound)
    .where('deadline_ms', '>', nowMs),
);

/** Binds the robot's waiting commands whose life is not over to an inbox, before any is written to its socket. */
export async function bindWaiting(db: Db, robotKey: number, inboxId: string, nowMs: number): Promise<void> {
  await bindQuery(db, { robotKey, inboxId, nowMs });
}

const dueQuery = prepared((db, { robotKey, inboxId }: { robotKey: number; inboxId: string }) =>
  db
    .selectFrom('commands')
    .select(['key', 'uuid', 'state'])
    .select((select) => select.fn<number>('octet_length', ['payload']).as('bytes'))
    .where('robot_key', '=', robotKey)
    .where(isOpen)
    .where('inbox_id', '=', inboxId)
    .orderBy('key'),
);

/**
 * What the robot's inbox should get: commands bound to it and not known to be taken, in POST order; without the payloads.
 * @param isAsked also those known to be taken: the inbox answers what it knows of them.
 */
export async function dueTo(db: Db, robotKey: number, inboxId: string, isAsked: boolean) {
  const { rows } = await dueQuery(db, { robotKey, inboxId });
  return isAsked ? rows : rows.filter(({ state }) => state === 'created');
}

/** Commands as they are written to a socket, in POST order. */
export async function forDelivery(db: Db, keys: readonly number[]) {
  if (keys.length === 0) return [];
  return await db
    .selectFrom('commands')
    .select(['uuid', 'interface', 'name', 'type', 'payload', 'deadline_ms', 'timeout_ms', 'latched'])
    .where('key', 'in', keys)
    .orderBy('key')
    .execute();
}

const cancelsQuery = prepared((db, { robotKey, inboxId }: { robotKey: number; inboxId: string }) =>
  db
    .selectFrom('commands')
    .select('uuid')
    .where('robot_key', '=', robotKey)
    .where(isOpen)
    .where('inbox_id', '=', inboxId)
    .where('cancel_requested', '=', 1)
    .orderBy('key'),
);

/** The open commands of the robot's inbox that should be cancelled, taken or not. */
export async function cancelsRequested(db: Db, robotKey: number, inboxId: string) {
  return (await cancelsQuery(db, { robotKey, inboxId })).rows;
}

const sentQuery = prepared((db, { robotKey, uuid, sentMs }: { robotKey: number; uuid: string; sentMs: number }) =>
  db
    .updateTable('commands')
    .set({ state: 'sent', sent_at_ms: sentMs })
    .where('uuid', '=', uuid)
    .where('robot_key', '=', robotKey)
    .where('state', '=', 'created'),
);

export async function markSent(db: Db, robotKey: number, uuid: string, sentMs: number): Promise<void> {
  await sentQuery(db, { robotKey, uuid, sentMs });
}

export async function storeFeedback(db: Db, robotKey: number, uuid: string, feedback: string): Promise<void> {
  await db
    .updateTable('commands')
    .set({ feedback })
    .where('uuid', '=', uuid)
    .where('robot_key', '=', robotKey)
    .where(isOpen)
    .execute();
}

/** Ends by which a robot says that a command never was on its disk; by any other, word that it was has got lost. */
const NEVER_TAKEN: ReadonlySet<string | null> = new Set(['expired', 'robot_storage_failed']);

const endByRobotQuery = prepared((db, end: End & { uuid: string; robotKey: number; sentAtLeastMs: number | null }) =>
  db
    .updateTable('commands')
    .set({
      state: end.state,
      error_code: end.error_code,
      message: end.message,
      result: end.result,
      feedback: end.feedback,
      ended_by: end.ended_by,
      // The robot's clock against ours: it has not ended before it was sent.
      finished_at_ms: sql<number>`max(${end.finished_at_ms}, coalesce(sent_at_ms, created_at_ms))`,
      sent_at_ms: sql<number | null>`coalesce(sent_at_ms, ${end.sentAtLeastMs})`,
    })
    .where('uuid', '=', end.uuid)
    .where('robot_key', '=', end.robotKey)
    .where((where) =>
      where.or([isOpen, where.and([where('error_code', '=', 'outcome_unknown'), where('ended_by', '=', 'cloud')])]),
    ),
);

/** The robot's word on how a command ended: ends an open one, or replaces the cloud's own outcome_unknown. */
export async function endByRobot(db: Db, robotKey: number, uuid: string, end: End): Promise<boolean> {
  const sentAtLeastMs = NEVER_TAKEN.has(end.error_code) ? null : end.finished_at_ms;
  const { numAffectedRows } = await endByRobotQuery(db, { ...end, uuid, robotKey, sentAtLeastMs });
  return (numAffectedRows ?? 0n) > 0n;
}

/** Ends one command. */
export async function endOne(tx: Tx, uuid: string, end: ReturnType<typeof cloudEnd>): Promise<void> {
  await tx.updateTable('commands').set(end).where('uuid', '=', uuid).execute();
}

/** Notes that a command should be cancelled on the robot. */
export async function requestCancel(tx: Tx, uuid: string): Promise<void> {
  await tx.updateTable('commands').set({ cancel_requested: 1 }).where('uuid', '=', uuid).execute();
}

/**
 * Gives their whole time anew to open commands that were created later than `nowMs`: the cloud's clock was set back since, and
 * what their time was to end by may be years away. They count as created now, so that this happens once.
 */
export async function renewFromFuture(db: Db, nowMs: number): Promise<bigint> {
  const renewed = {
    deadline_ms: sql<number>`deadline_ms - created_at_ms + ${nowMs}`,
    give_up_ms: sql<number>`give_up_ms - created_at_ms + ${nowMs}`,
    created_at_ms: nowMs,
    // Null stays null.
    sent_at_ms: sql<number | null>`min(sent_at_ms, ${nowMs})`,
  };
  const ofFuture = db
    .updateTable('commands')
    .set(renewed)
    .where('created_at_ms', '>', nowMs + SET_BACK_LEAST_MS);
  // Two, as no one index holds all open commands.
  const unbound = await ofFuture.where(isUnbound).where('deadline_ms', '>', nowMs).executeTakeFirst();
  const bound = await ofFuture
    .where(isOpen)
    .where('inbox_id', 'is not', null)
    .where('give_up_ms', '>', nowMs)
    .executeTakeFirst();
  return unbound.numUpdatedRows + bound.numUpdatedRows;
}

/** Ends those that no robot has seen and whose life is over. */
export async function expireUnbound(db: Db, nowMs: number, end: ReturnType<typeof cloudEnd>): Promise<bigint> {
  const updated = await db
    .updateTable('commands')
    .set(end)
    .where(isUnbound)
    .where('deadline_ms', '<=', nowMs)
    .executeTakeFirst();
  return updated.numUpdatedRows;
}

/** Ends those that a robot may have seen and of which nothing was heard in time. */
export async function giveUpBound(db: Db, nowMs: number, end: ReturnType<typeof cloudEnd>): Promise<bigint> {
  const updated = await db
    .updateTable('commands')
    .set(end)
    .where(isOpen)
    .where('inbox_id', 'is not', null)
    .where('give_up_ms', '<=', nowMs)
    .executeTakeFirst();
  return updated.numUpdatedRows;
}

/** Ends the robot's open commands that another inbox may hold (or this one, where it is an old copy). */
export async function endLostInboxes(
  db: Db,
  robotKey: number,
  inbox: { id: string; isStale: boolean },
  end: ReturnType<typeof cloudEnd>,
): Promise<bigint> {
  let query = db
    .updateTable('commands')
    .set(end)
    .where('robot_key', '=', robotKey)
    .where(isOpen)
    .where('inbox_id', 'is not', null);
  if (!inbox.isStale) query = query.where('inbox_id', '!=', inbox.id);
  return (await query.executeTakeFirst()).numUpdatedRows;
}
