import { type AgentErrorCode, type Command, type CommandOutcome, command } from '@drover/shared/link/command';
import type { Database } from 'better-sqlite3';
import { isCorrupt, type StoreFile } from '../disk/store-file.js';

/** Schema versions of inbox.db, append-only. */
export const INBOX_MIGRATIONS = [
  `
  CREATE TABLE commands (
    -- AUTOINCREMENT: a number is never given twice, even after the row was pruned.
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'done')),
    -- The command as JSON; NULL once done.
    body TEXT,
    -- Hex; stored before the goal is sent, so that it can be found again after a restart.
    goal_id TEXT,
    taken_at_ms REAL NOT NULL,
    -- The command_outcome as JSON; NULL until done.
    outcome TEXT,
    finished_at_ms REAL,
    -- 1 once the cloud has acknowledged the outcome.
    delivered INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  -- What is still to be told, and what is still to be run: small whatever the table holds.
  CREATE INDEX commands_open ON commands (seq) WHERE delivered = 0;
  `,
  `
  -- What a goal that outlives the agent needs to be followed as before: when its time began (wall clock), and whether it
  -- is to be cancelled.
  ALTER TABLE commands ADD COLUMN started_at_ms REAL;
  ALTER TABLE commands ADD COLUMN cancel_asked INTEGER NOT NULL DEFAULT 0;
  `,
] as const;

/** Delivered commands are kept this long, as evidence and to answer a cloud that was restored from a backup. */
const KEEP_DELIVERED_MS = 30 * 24 * 3600 * 1000;

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
  return file;
}

export interface InboxOptions {
  /** Opens the file; called again after it was set aside. */
  readonly open: () => StoreFile;
  readonly setAside: (why: string, detail: string) => void;
}

/**
 * The commands this robot has accepted, and how they ended. A command is here, on disk, before it has any effect; a uuid
 * seen before is never taken again. Every method is one durable transaction and throws SQLite's error where the disk
 * refuses, having changed nothing. A file that turns out corrupt, or another robot's, is set aside and a new one begun
 * under a new id; the cloud sends nothing again that it once wrote for the old one.
 */
export class Inbox {
  readonly #options: InboxOptions;
  #file: StoreFile;
  #sql: ReturnType<typeof prepare>;
  #onIdentityChange: (() => void) | null = null;

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#file = options.open();
    this.#sql = prepare(this.#file.db);
  }

  get id(): string {
    return this.#file.id;
  }

  /** Called when a corrupt file was replaced: the session that said the old id must be opened anew. */
  onIdentityChange(listener: () => void): void {
    this.#onIdentityChange = listener;
  }

  /**
   * Whether this inbox is that robot's; another's is set aside: `changed`, say hello again.
   * @throws what the disk refuses with; nothing that was known of the inbox may be relied on then.
   */
  claim(robotId: string): 'ours' | 'changed' {
    this.#ensureOpen();
    const owner = this.#file.robotId();
    if (owner === robotId) return 'ours';
    if (owner === null) {
      this.#file.setRobotId(robotId);
      return 'ours';
    }
    // The new one is claimed by the session that is opened anew.
    this.#startOver('other-robot', `it belongs to ${owner}, the token to ${robotId}`);
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
        // No upsert: its insert would use up a number even where it ends as an update.
        if (this.#sql.find.get(uuid)) this.#sql.finish.run(text, atMs, uuid);
        else this.#sql.insertDone.run(uuid, atMs, text, atMs);
      }
    });
  }

  /** The cloud has stored these outcomes. Losing this write in a crash costs one more sending. */
  delivered(uuids: readonly string[]): void {
    this.#transaction(() => {
      for (const uuid of uuids) this.#sql.delivered.run(uuid);
    });
  }

  /** Outcomes the cloud has not acknowledged, the oldest `limit` commands first. */
  undelivered(limit: number): CommandOutcome[] {
    return this.#guard(() => this.#sql.undelivered.all(limit).map((text) => JSON.parse(text)));
  }

  /** The outcomes are the caller's to finish(): a full disk must not keep the agent from starting. */
  recover(nowMs: number): Recovered {
    const found: Recovered = { waiting: [], goals: [], ended: [], unreadable: [] };
    for (const row of this.#sql.inState.all('running')) {
      const goal = runningGoal(row);
      if (goal) found.goals.push(goal);
      else found.ended.push(failed(row.uuid, 'outcome_unknown', RESTARTED, nowMs));
    }
    for (const row of this.#sql.inState.all('waiting')) {
      const stored = command.safeParse(parseJson(row.body));
      if (stored.success) found.waiting.push({ seq: row.seq, command: stored.data });
      else found.unreadable.push(failed(row.uuid, 'internal_error', UNREADABLE, nowMs));
    }
    return found;
  }

  /** Removes what was delivered long ago. Undelivered outcomes stay however old: a clock set right must not lose them. */
  prune(nowMs: number): number {
    return this.#sql.prune.run(nowMs - KEEP_DELIVERED_MS).changes;
  }

  close(): void {
    this.#file.db.close();
  }

  #transaction<T>(action: () => T): T {
    return this.#guard(() => this.#file.db.transaction(action)());
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
  }
}

const RESTARTED = 'the agent was restarted while the command ran; it is not run again';
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
    delivered: db.prepare('UPDATE commands SET delivered = 1 WHERE uuid = ?'),
    undelivered: db
      .prepare<[number], string>(
        `SELECT outcome FROM commands WHERE delivered = 0 AND state = 'done' ORDER BY seq LIMIT ?`,
      )
      .pluck(),
    inState: db.prepare<[string], OpenRow>(
      `SELECT seq, uuid, body, goal_id, taken_at_ms, started_at_ms, cancel_asked
       FROM commands WHERE delivered = 0 AND state = ? ORDER BY seq`,
    ),
    prune: db.prepare('DELETE FROM commands WHERE delivered = 1 AND finished_at_ms < ?'),
  };
}
