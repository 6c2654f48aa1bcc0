/** The statements of the ingest path, by hand: they run for every batch, some for every row. */

export const INGEST_SQL = {
  /** No row where the robot is gone, 0 where the lane was never heard of. */
  markOfRobot:
    'SELECT coalesce(spools.acked_seq, 0) FROM robots LEFT JOIN spools ON spools.robot_key = robots.key ' +
    'AND spools.spool_id = ? AND spools.lane = ? WHERE robots.key = ? AND robots.deleted_at_ms IS NULL',
  mark: 'SELECT acked_seq FROM spools WHERE robot_key = ? AND spool_id = ? AND lane = ?',
  setMark:
    'INSERT INTO spools (robot_key, spool_id, lane, acked_seq) VALUES (?, ?, ?, ?) ' +
    'ON CONFLICT (robot_key, spool_id, lane) DO UPDATE SET acked_seq = excluded.acked_seq',
  addMissing:
    'INSERT INTO missing_rows (robot_key, spool_id, lane, first_seq, last_seq, found_at_ms) VALUES (?, ?, ?, ?, ?, ?)',
  countMissing: 'SELECT count(*) FROM missing_rows WHERE robot_key = ?',
  // Never too large for an integer, whatever was told.
  sumMissing:
    'SELECT CAST(min(total(last_seq - first_seq + 1), 4503599627370496) AS INTEGER) FROM missing_rows WHERE robot_key = ?',
  removeMissing: 'DELETE FROM missing_rows WHERE robot_key = ?',
  findSchema: 'SELECT key FROM schemas WHERE hash = ? AND type = ?',
  addSchema: 'INSERT INTO schemas (hash, type, text) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  findSource: 'SELECT key FROM sources WHERE robot_key = ? AND name = ?',
  addSource: 'INSERT INTO sources (robot_key, name) VALUES (?, ?) RETURNING key',
  findChannel: 'SELECT key FROM channels WHERE source_key = ? AND schema_key = ? AND publisher = ?',
  countChannels: 'SELECT count(*) FROM channels WHERE source_key = ?',
  addChannel: 'INSERT INTO channels (source_key, schema_key, publisher) VALUES (?, ?, ?) RETURNING key',
  count:
    'UPDATE sources SET point_count = point_count + @count, ' +
    'first_stamp_ms = min(coalesce(first_stamp_ms, @first), @first), ' +
    'last_stamp_ms = max(coalesce(last_stamp_ms, @last), @last) WHERE key = @key',
  addVital:
    'INSERT INTO vitals (robot_key, stamp_ms, received_ms, robot_stamp_ms, cpu, ram, disk, battery) ' +
    'VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  setLatestVital:
    'INSERT INTO latest_vitals (robot_key, stamp_ms, cpu, ram, disk, battery) VALUES (?, ?, ?, ?, ?, ?) ' +
    'ON CONFLICT (robot_key) DO UPDATE SET stamp_ms = excluded.stamp_ms, cpu = excluded.cpu, ram = excluded.ram, ' +
    'disk = excluded.disk, battery = excluded.battery WHERE excluded.stamp_ms >= latest_vitals.stamp_ms',
} as const;

/** Points go in by this many a statement (1.4 times the rate of one by one); the rest by the next of these. */
export const POINTS_A_STATEMENT = [64, 8, 1] as const;

/**
 * OR FAIL: a row that can't be stored leaves those of its statement before it, which the group's transaction takes back, or the
 * batch's savepoint at the group's second try. The default (ABORT) would have SQLite keep each page as it was before the statement, in a temporary file: a quarter of the whole cost.
 */
export function addPointsSql(rows: number): string {
  const values = Array.from({ length: rows }, () => '(?, ?, ?, ?, ?, ?)').join(', ');
  return `INSERT OR FAIL INTO points (source_key, channel_key, stamp_ms, received_ms, robot_stamp_ms, cdr) VALUES ${values}`;
}
