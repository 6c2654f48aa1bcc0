/** Assignments of compose files by an id of their own, and what robots tell of them. */
export const composeStatus = `
-- A UUID, new with each assignment and each removal: what a robot tells counts for the one that it names.
ALTER TABLE robot_compose ADD COLUMN assignment TEXT NOT NULL DEFAULT '';
UPDATE robot_compose SET assignment = lower(
  hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-8' ||
  substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)));
ALTER TABLE robot_compose ADD COLUMN override_lock INTEGER NOT NULL DEFAULT 0;
-- NULL = it should run; else it should not, and 1 = its volumes go too. The state does not tell: error is of either.
ALTER TABLE robot_compose ADD COLUMN removal_volumes INTEGER;
UPDATE robot_compose SET removal_volumes = 0 WHERE state IN ('pending_down', 'down');

-- What the robot told last, of whatever assignment.
CREATE TABLE compose_status (
  robot_key INTEGER PRIMARY KEY REFERENCES robots (key),
  assignment TEXT NOT NULL,
  running_id TEXT,
  running_version INTEGER,
  -- the rest, JSON
  told TEXT NOT NULL,
  reported_at_ms INTEGER NOT NULL
) STRICT;
`;
