import { type AgentErrorCode, type Command, type CommandOutcome, command } from '@drover/shared/link/command';
import type { Hello } from '@drover/shared/link/hello';
import type { Database } from 'better-sqlite3';
import type { Logger } from 'pino';
import { claimFile, othersFile, type RobotIdentity } from '../disk/robot-identity.js';
import { isCorrupt, type StoreFile } from '../disk/store-file.js';
import { Lineage } from './lineage.js';

/** Delivered commands are kept this long, as evidence and to answer a cloud that was restored from a backup. */
const KEEP_DELIVERED_MS = 30 * 24 * 3600 * 1000;
/** And the newest so many in any case: no clock that was set wrong for a while may make it forget what has just run. */
export const KEEP_NEWEST = 1_000;

export interface TakenCommand {
  readonly seq: number;
  readonly command: Command;
}

/** A goal that ran, or was about to be sent, when the agent ended. */
export interface RunningGoal extends TakenCommand {
  /** 16 bytes, hex. */
  readonly goalId: string;
  /** Wall clock. */
  readonly startedAtMs: number;
  readonly cancelAsked: boolean;
}

/** What a restart finds. */
export interface Recovered {
  /** In order: to be run if it is not too late. */
  readonly waiting: TakenCommand[];
  /** To be followed by their ids, never to be sent again. */
  readonly goals: RunningGoal[];
  /** What was running may or may not have had its effect: outcome_unknown, and never run again. */
  readonly ended: CommandOutcome[];
  /** Waiting, by an agent that wrote otherwise. */
  readonly unreadable: CommandOutcome[];
}

/** What the inbox knows of a command. */
export type InboxEntry =
  | { readonly seq: number; readonly state: 'waiting' | 'running' }
  | { readonly seq: number; readonly state: 'done'; readonly outcome: CommandOutcome };

/** A command to take: at once running where nothing is before it, which spares a write. */
export interface TakeRequest {
  readonly command: Command;
  readonly running: boolean;
  /** 16 bytes, hex; for goals. */
  readonly goalId: string | null;
}

/** Reads enough of an inbox's file to find a broken one out. */
export function checkInboxFile(file: StoreFile): StoreFile {
  const sql = prepare(file.db);
  sql.lastSeq.get();
  sql.inState.all('running');
  sql.inState.all('waiting');
  file.db.exec('SELECT count(*) FROM head; SELECT count(*) FROM tenures');
  return file;
}

export interface InboxOptions {
  /** Opens the file; called again after it was set aside. */
  readonly open: () => StoreFile;
  readonly setAside: (why: string, detail: string) => void;
  readonly newId: () => string;
  /** Wall clock. */
  readonly now: () => number;
  readonly log: Logger;
}

/**
 * The commands this robot has accepted, and how they ended. A command is here, on disk, before it has any effect; a uuid
 * seen before is never taken again. Every method is one durable transaction and throws SQLite's error where the disk
 * refuses, having changed nothing. A file that turns out corrupt, or another robot's, is set aside and a new one begun
 * under a new id; the cloud sends nothing again that it once wrote for the old one. A copy of an inbox gets a new id as
 * well, but keeps what it knows: nothing that waits in it is run, and how commands ended is told as before.
 */
export class Inbox {
  readonly #options: InboxOptions;
  #file: StoreFile;
  #sql: ReturnType<typeof prepare>;
  #lineage: Lineage;
  #onIdentityChange: (() => void) | null = null;
  /** Within `together`: what is written joins its transaction. */
  #isTogether = false;

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#file = options.open();
    this.#sql = prepare(this.#file.db);
    this.#lineage = this.#begin();
  }

  get id(): string {
    return this.#lineage.id;
  }

  /** Of the last write that is on disk. */
  get version(): number {
    return this.#lineage.version;
  }

  /** What the first message of a session says of this inbox. */
  said(): Hello['inbox'] {
    const owner = this.#guard(() => this.#file.owner());
    const { id } = this;
    return {
      id,
      last_seq: this.lastSeq(),
      ...(owner !== null && { robot_id: owner.id }),
      ...(owner !== null && owner.uid !== null && { robot_uid: owner.uid }),
      lineage: this.#lineage.said(),
    };
  }

  /**
   * The cloud has heard of a state of this inbox that the file knows nothing of: it is an old copy. It gets a new id, and
   * what waits in it is struck out; what runs goes on. Never throws: what the disk refuses is written with its next write.
   */
  renew(): void {
    try {
      this.#guard(() => this.#lineage.renew());
    } catch (error) {
      this.#options.log.error({ err: error }, 'the new id of the inbox can not be stored yet');
    }
  }

  /** Called when a corrupt file was replaced: the session that said the old id must be opened anew. */
  onIdentityChange(listener: () => void): void {
    this.#onIdentityChange = listener;
  }

  /**
   * Whether this inbox is that robot's; another's is set aside: `changed`, say hello again.
   * @throws what the disk refuses with; nothing that was known of the inbox may be relied on then.
   */
  claim(robot: RobotIdentity): 'ours' | 'changed' {
    this.#ensureOpen();
    const file = this.#file;
    const setOwner = (owner: RobotIdentity) => this.#transaction(() => file.setOwner(owner));
    if (claimFile({ owner: file.owner, setOwner }, robot)) return 'ours';
    // The new one is claimed by the session that is opened anew.
    this.#startOver('other-robot', othersFile(file.owner(), robot));
    return 'changed';
  }

  /** How many commands were ever taken. */
  lastSeq(): number {
    return this.#guard(() => this.#sql.lastSeq.get() ?? 0);
  }

  find(uuid: string): InboxEntry | null {
    const row = this.#guard(() => this.#sql.find.get(uuid));
    if (!row) return null;
    const { seq, state } = row;
    return state === 'done' ? { seq, state, outcome: JSON.parse(row.outcome ?? 'null') } : { seq, state };
  }

  /** Makes all that `writes` writes here one durable transaction: a flush of the disk costs more than all of them. */
  together(writes: () => void): void {
    this.#transaction(() => {
      this.#isTogether = true;
      try {
        writes();
      } finally {
        this.#isTogether = false;
      }
    });
  }

  /** Takes commands, none of them known before; returns their numbers. */
  take(requests: readonly TakeRequest[], nowMs: number): number[] {
    return this.#transaction(() =>
      requests.map(({ command, running, goalId }) => {
        const state = running ? 'running' : 'waiting';
        const body = JSON.stringify(command);
        const startedMs = running ? nowMs : null;
        return Number(this.#sql.take.run(command.uuid, state, body, goalId, nowMs, startedMs).lastInsertRowid);
      }),
    );
  }

  /** A waiting command begins: from here on a crash makes it outcome_unknown, or a goal that is followed by its id. */
  start(uuid: string, goalId: string | null, nowMs: number): void {
    this.#transaction(() => this.#sql.start.run(goalId, nowMs, uuid));
  }

  /** A running goal is to be cancelled, also by the next run of the agent. */
  askCancel(uuid: string): void {
    this.#transaction(() => this.#sql.askCancel.run(uuid));
  }

  /** Commands ended. One that was never taken (refused at the door) is recorded as well, so that a resend is answered. */
  finish(outcomes: readonly CommandOutcome[]): void {
    this.#transaction(() => {
      for (const outcome of outcomes) {
        const { uuid, finished_robot_ms: atMs } = outcome;
        const text = JSON.stringify(outcome);
        if (this.#sql.finish.run(text, atMs, uuid).changes > 0) continue;
        // No upsert: its insert would use up a number even where it ends as an update.
        if (!this.#sql.find.get(uuid)) this.#sql.insertDone.run(uuid, atMs, text, atMs);
      }
    });
  }

  /** The cloud has stored these outcomes. Losing this write in a crash costs one more sending. */
  delivered(uuids: readonly string[], cloudNowMs: number | null): void {
    this.#transaction(() => {
      for (const uuid of uuids) this.#sql.delivered.run(cloudNowMs, uuid);
    });
  }

  /** Outcomes the cloud has not acknowledged, the oldest `limit` commands first. */
  undelivered(limit: number): CommandOutcome[] {
    return this.#guard(() => this.#sql.undelivered.all(limit).map((text) => JSON.parse(text)));
  }

  /** The outcomes are the caller's to finish(): a full disk must not keep the agent from starting. */
  recover(nowMs: number): Recovered {
    const found: Recovered = { waiting: [], goals: [], ended: [], unreadable: [] };
    // Known to be a copy, and not struck out yet: only goals, which are followed and never sent.
    const isCopy = this.#lineage.isNewIdPending;
    for (const row of this.#sql.inState.all('running')) {
      const goal = runningGoal(row);
      if (goal) found.goals.push(goal);
      else if (!isCopy) found.ended.push(failed(row.uuid, 'outcome_unknown', RESTARTED, nowMs));
    }
    for (const row of isCopy ? [] : this.#sql.inState.all('waiting')) {
      const stored = command.safeParse(parseJson(row.body));
      if (stored.success) found.waiting.push({ seq: row.seq, command: stored.data });
      else found.unreadable.push(failed(row.uuid, 'internal_error', UNREADABLE, nowMs));
    }
    return found;
  }

  /**
   * Removes what the cloud has had for long, by its own clock; of the newest ones nothing. Undelivered outcomes stay however
   * old they are.
   */
  prune(cloudNowMs: number): number {
    const beforeMs = cloudNowMs - KEEP_DELIVERED_MS;
    return this.#transaction(() => this.#sql.prune.run(beforeMs, KEEP_NEWEST).changes);
  }

  close(): void {
    try {
      // SQLite writes the file once more as it closes it: the last write that it holds must be as young.
      if (this.#file.db.open) this.#lineage.write(() => {});
    } catch (error) {
      this.#options.log.debug({ err: error }, 'the inbox refuses its last write');
    }
    this.#file.db.close();
  }

  #transaction<T>(action: () => T): T {
    return this.#isTogether ? action() : this.#guard(() => this.#lineage.write(action));
  }

  #guard<T>(action: () => T): T {
    this.#ensureOpen();
    try {
      return action();
    } catch (error) {
      if (isCorrupt(error)) {
        this.#startOver('corrupt', error.message);
        this.#onIdentityChange?.();
      }
      throw error;
    }
  }

  #startOver(why: string, detail: string): void {
    this.#file.db.close();
    this.#options.setAside(why, detail);
    this.#open();
  }

  /** After a #startOver that failed half-way. */
  #ensureOpen(): void {
    if (this.#file.db.open) return;
    this.#open();
    this.#onIdentityChange?.();
  }

  #open(): void {
    this.#file = this.#options.open();
    this.#sql = prepare(this.#file.db);
    this.#lineage = this.#begin();
  }

  #begin(): Lineage {
    const { newId, now, log } = this.#options;
    const lineage = new Lineage(this.#file, { newId, now, onNewId: (isUntouched) => this.#strikeOut(isUntouched) });
    if (lineage.copied !== null) log.error({ file: this.#file.path, why: lineage.copied }, 'the inbox is a copy');
    try {
      lineage.begin();
    } catch (error) {
      // A full disk must not keep the agent from starting.
      log.error({ err: error }, 'the inbox can not be written');
    }
    return lineage;
  }

  /**
   * Ends what a copy must not run. Kept, so that it is never taken again, and not told: the cloud ends it as unknown by
   * itself, but lets a true outcome take its place, which the file that this is a copy of may still tell.
   */
  #strikeOut(isUntouched: boolean): void {
    const atMs = this.#options.now();
    const { inState, finish, delivered } = this.#sql;
    // Goals are followed, not sent. What runs here since the file was opened goes on.
    const ran = isUntouched ? inState.all('running').filter((row) => runningGoal(row) === null) : [];
    const rows = [...inState.all('waiting'), ...ran];
    for (const { uuid } of rows) {
      finish.run(JSON.stringify(failed(uuid, 'outcome_unknown', COPIED, atMs)), atMs, uuid);
      delivered.run(null, uuid);
    }
    const message = 'the inbox is a copy: it gets a new id, and what waits in it is not run';
    this.#options.log.warn({ commands: rows.map(({ uuid }) => uuid) }, message);
  }
}

const RESTARTED = 'the agent was restarted while the command ran; it is not run again';
const COPIED = 'the inbox is a copy of one in which it waited or ran; it is not run here';
const UNREADABLE = 'this version of the agent can not read the stored command; it was not run';

function failed(uuid: string, code: AgentErrorCode, message: string, nowMs: number): CommandOutcome {
  const ended = { kind: 'command_outcome', uuid, state: 'error', error_code: code, message } as const;
  return { ...ended, result: null, feedback: null, finished_robot_ms: nowMs };
}

function runningGoal(row: OpenRow): RunningGoal | null {
  if (row.goal_id === null) return null;
  const stored = command.safeParse(parseJson(row.body));
  if (!stored.success || stored.data.interface !== 'action_send_goal') return null;
  const startedAtMs = row.started_at_ms ?? row.taken_at_ms;
  return { seq: row.seq, command: stored.data, goalId: row.goal_id, startedAtMs, cancelAsked: row.cancel_asked === 1 };
}

function parseJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return null;
  }
}

/** A command that has not ended. */
interface OpenRow {
  seq: number;
  uuid: string;
  body: string | null;
  goal_id: string | null;
  taken_at_ms: number;
  started_at_ms: number | null;
  cancel_asked: number;
}

function prepare(db: Database) {
  return {
    lastSeq: db.prepare<[], number>(`SELECT seq FROM sqlite_sequence WHERE name = 'commands'`).pluck(),
    find: db.prepare<[string], { seq: number; state: 'waiting' | 'running' | 'done'; outcome: string | null }>(
      'SELECT seq, state, outcome FROM commands WHERE uuid = ?',
    ),
    take: db.prepare(
      'INSERT INTO commands (uuid, state, body, goal_id, taken_at_ms, started_at_ms) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    start: db.prepare(
      `UPDATE commands SET state = 'running', goal_id = ?, started_at_ms = ? WHERE uuid = ? AND state = 'waiting'`,
    ),
    askCancel: db.prepare(`UPDATE commands SET cancel_asked = 1 WHERE uuid = ? AND state = 'running'`),
    finish: db.prepare(
      `UPDATE commands SET state = 'done', body = NULL, outcome = ?, finished_at_ms = ?
       WHERE uuid = ? AND state <> 'done'`,
    ),
    insertDone: db.prepare(
      `INSERT INTO commands (uuid, state, taken_at_ms, outcome, finished_at_ms) VALUES (?, 'done', ?, ?, ?)`,
    ),
    delivered: db.prepare('UPDATE commands SET delivered = 1, delivered_cloud_ms = ? WHERE uuid = ?'),
    undelivered: db
      .prepare<[number], string>(
        `SELECT outcome FROM commands WHERE delivered = 0 AND state = 'done' ORDER BY seq LIMIT ?`,
      )
      .pluck(),
    inState: db.prepare<[string], OpenRow>(
      `SELECT seq, uuid, body, goal_id, taken_at_ms, started_at_ms, cancel_asked
       FROM commands WHERE delivered = 0 AND state = ? ORDER BY seq`,
    ),
    prune: db.prepare(
      `DELETE FROM commands WHERE delivered = 1 AND coalesce(delivered_cloud_ms, finished_at_ms) < ?
       AND seq <= (SELECT max(seq) FROM commands) - ?`,
    ),
  };
}
