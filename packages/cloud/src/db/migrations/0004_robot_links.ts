/** How robots are connected, how much waits on them, and what they had to drop: kept so that it shows while they are offline. */
export const robotLinks = `
-- Made at the first session.
CREATE TABLE robot_links (
  robot_key INTEGER PRIMARY KEY REFERENCES robots (key),
  link_version INTEGER NOT NULL,
  sessions INTEGER NOT NULL,
  connected_at_ms INTEGER NOT NULL,
  ended_at_ms INTEGER,
  ending TEXT,
  clock_offset_ms REAL,
  clock_uncertainty_ms REAL,
  clock_measured_at_ms INTEGER,
  spool_rows INTEGER,
  spool_bytes INTEGER,
  spool_bytes_max INTEGER,
  spool_oldest_ms INTEGER,
  reported_at_ms INTEGER
) STRICT;

-- The largest counts ever told of each spool. What is shown is their sum: a robot whose spool was begun anew counts from 0
-- again, and what its old one had dropped is missing all the same.
CREATE TABLE spool_drops (
  robot_key INTEGER NOT NULL REFERENCES robots (key),
  source TEXT NOT NULL,
  reason TEXT NOT NULL,
  spool_id TEXT NOT NULL,
  rows INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (robot_key, source, reason, spool_id)
) STRICT, WITHOUT ROWID;

-- What was told before, of robots that have had one spool only; the others tell again when they connect.
INSERT INTO spool_drops (robot_key, source, reason, spool_id, rows, bytes)
SELECT s.robot_key, s.source, json_extract(d.value, '$.reason') AS reason, one.spool_id,
  max(json_extract(d.value, '$.rows')), max(json_extract(d.value, '$.bytes'))
FROM stream_status AS s
JOIN (
  SELECT robot_key, min(spool_id) AS spool_id FROM spools GROUP BY robot_key HAVING min(spool_id) = max(spool_id)
) AS one ON one.robot_key = s.robot_key
JOIN json_each(s.drops) AS d
-- A robot may have said a reason twice.
GROUP BY s.robot_key, s.source, reason;
`;
