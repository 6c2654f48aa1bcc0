import { LINEAGE_TABLES } from './lineage.js';

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
  LINEAGE_TABLES,
  `
  -- The cloud's clock when it had the outcome; NULL where that was not known. The robot's own may stand in 1970 until it is set.
  ALTER TABLE commands ADD COLUMN delivered_cloud_ms REAL;
  `,
] as const;
