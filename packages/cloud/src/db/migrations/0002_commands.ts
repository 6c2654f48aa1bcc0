/** Commands, and what was seen of the robots' inboxes. */
export const commands = `
CREATE TABLE commands (
  -- the order of the POSTs
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  tenant_key INTEGER NOT NULL REFERENCES tenants (key),
  robot_key INTEGER NOT NULL REFERENCES robots (key),
  interface TEXT NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  -- JSON
  payload TEXT NOT NULL,
  latched INTEGER NOT NULL,
  timeout_ms INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  deadline_ms INTEGER NOT NULL,
  give_up_ms INTEGER NOT NULL,
  state TEXT NOT NULL,
  error_code TEXT,
  message TEXT,
  -- JSON
  result TEXT,
  -- JSON
  feedback TEXT,
  -- set before it is first written to a socket; NULL = certainly on no robot
  inbox_id TEXT,
  sent_at_ms INTEGER,
  finished_at_ms INTEGER,
  ended_by TEXT,
  cancel_requested INTEGER NOT NULL DEFAULT 0
) STRICT;
-- the lists, newest first
CREATE INDEX commands_by_tenant ON commands (tenant_key, key);
CREATE INDEX commands_by_robot ON commands (robot_key, key);
-- what a session delivers
CREATE INDEX commands_open ON commands (robot_key, key) WHERE state IN ('created', 'sent');
-- what the clock ends: few at any time, so that a sweep reads only them
CREATE INDEX commands_unbound ON commands (deadline_ms) WHERE state = 'created' AND inbox_id IS NULL;
CREATE INDEX commands_bound ON commands (give_up_ms) WHERE state IN ('created', 'sent') AND inbox_id IS NOT NULL;

CREATE TABLE inboxes (
  robot_key INTEGER NOT NULL REFERENCES robots (key),
  inbox_id TEXT NOT NULL,
  last_seq INTEGER NOT NULL,
  PRIMARY KEY (robot_key, inbox_id)
) STRICT, WITHOUT ROWID;
`;
