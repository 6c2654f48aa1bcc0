/** What robots last told of their streams, and how old a stream's data may become before it leaves the robot. */
export const streamStatus = `
ALTER TABLE streams ADD COLUMN max_age_s REAL;

-- Only of streams that are there: it goes with its stream.
CREATE TABLE stream_status (
  robot_key INTEGER NOT NULL REFERENCES robots (key),
  source TEXT NOT NULL,
  state TEXT NOT NULL,
  message TEXT,
  publishers INTEGER NOT NULL,
  -- stamps: the robot's, corrected by its clock's offset
  receiving_since_ms INTEGER,
  last_message_ms INTEGER,
  rate_hz REAL,
  -- JSON
  drops TEXT NOT NULL,
  reported_at_ms INTEGER NOT NULL,
  PRIMARY KEY (robot_key, source)
) STRICT, WITHOUT ROWID;
`;
