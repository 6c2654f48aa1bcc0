/** What robots had delivered and this store does not have: it was set back to a backup, say. */
export const missingRows = `
CREATE TABLE missing_rows (
  robot_key INTEGER NOT NULL REFERENCES robots (key),
  spool_id TEXT NOT NULL,
  lane TEXT NOT NULL,
  -- sequences, both included
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  found_at_ms INTEGER NOT NULL,
  PRIMARY KEY (robot_key, spool_id, lane, first_seq)
) STRICT, WITHOUT ROWID;
`;
