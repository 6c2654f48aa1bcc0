/** Schema versions of spool.db, append-only (disk/store-file.ts applies them). */
export const SPOOL_MIGRATIONS = [
  `
  -- What rows have in common. held_* are kept in the transaction that adds or removes rows, never counted on read.
  CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    held_rows INTEGER NOT NULL DEFAULT 0,
    held_bytes INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE schemas (hash TEXT PRIMARY KEY, type TEXT NOT NULL, text TEXT NOT NULL) WITHOUT ROWID, STRICT;
  CREATE TABLE channels (
    id INTEGER PRIMARY KEY,
    source_id INTEGER NOT NULL,
    -- The vitals' channel has empty type and schema_hash.
    type TEXT NOT NULL,
    schema_hash TEXT NOT NULL,
    -- '' = no single publisher: NULLs would all be different to the index.
    publisher TEXT NOT NULL,
    UNIQUE (source_id, type, schema_hash, publisher)
  ) STRICT;

  -- One index only, the key: a second one would double what is written to the robot's flash. body stands last, so that
  -- walking ids and channels reads no overflow pages.
  CREATE TABLE rows (
    id INTEGER PRIMARY KEY,
    channel INTEGER NOT NULL,
    robot_stamp_ms REAL NOT NULL,
    body BLOB NOT NULL
  ) STRICT;

  -- Rows that were sent at least once: a batch is all rows with first_id <= id <= last_id, and no two overlap. Its lane
  -- and sequence are committed before it is first sent and never change.
  CREATE TABLE batches (
    lane TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    row_count INTEGER NOT NULL,
    first_id INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (lane, first_seq)
  ) WITHOUT ROWID, STRICT;
  CREATE TABLE lanes (lane TEXT PRIMARY KEY, last_seq INTEGER NOT NULL) WITHOUT ROWID, STRICT;
  INSERT INTO lanes (lane, last_seq) VALUES ('live', 0), ('backfill', 0);

  -- Cumulative since the file was made.
  CREATE TABLE drops (
    source TEXT NOT NULL,
    reason TEXT NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (source, reason)
  ) WITHOUT ROWID, STRICT;
  `,
  `
  -- By what clock the rows from from_id on were stamped (clocks.ts).
  CREATE TABLE clocks (
    from_id INTEGER PRIMARY KEY,
    boot_id TEXT NOT NULL,
    -- Wall clock minus the time since the boot.
    base_ms REAL NOT NULL,
    -- + the robot's clock = the cloud's; NULL = not measured while it stood so.
    offset_ms REAL,
    uncertainty_ms REAL
  ) STRICT;
  `,
  `
  -- How long rows have waited (age-ledger.ts): those below next_id were there when so much time was known to have passed.
  CREATE TABLE age_marks (next_id INTEGER PRIMARY KEY, elapsed_ms REAL NOT NULL) STRICT;
  -- One row: the last moment written down, and the last at which the cloud's clock was known (NULL = never).
  CREATE TABLE age_head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    boot_id TEXT NOT NULL,
    since_ms REAL NOT NULL,
    elapsed_ms REAL NOT NULL,
    cloud_boot_id TEXT,
    cloud_elapsed_ms REAL,
    cloud_ms REAL
  ) STRICT;
  `,
  `
  -- When a session last stood, to a minute; NULL = never known to.
  ALTER TABLE age_head ADD COLUMN session_elapsed_ms REAL;
  `,
] as const;
