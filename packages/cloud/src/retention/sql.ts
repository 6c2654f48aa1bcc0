/** The statements of retention, by hand: they run for every step, some for every row. */

export const RETENTION_SQL = {
  // Ids are given out in the order of arrival. length() of a blob reads its row's header, not the blob.
  pointHeads:
    'SELECT id, source_key AS sourceKey, received_ms AS receivedMs, length(cdr) AS bytes FROM points ORDER BY id LIMIT ?',
  vitalHeads: 'SELECT id, 0 AS sourceKey, received_ms AS receivedMs, 0 AS bytes FROM vitals ORDER BY id LIMIT ?',
  nextPoint:
    'SELECT id, received_ms AS receivedMs FROM points WHERE id > ? AND id <= ? AND received_ms <= ? ORDER BY id LIMIT 1',
  nextVital:
    'SELECT id, received_ms AS receivedMs FROM vitals WHERE id > ? AND id <= ? AND received_ms <= ? ORDER BY id LIMIT 1',
  lastPoint: 'SELECT max(id) FROM points',
  lastVital: 'SELECT max(id) FROM vitals',
  removePoints: 'DELETE FROM points WHERE id <= ?',
  removeVitals: 'DELETE FROM vitals WHERE id <= ?',
  // Both ends of what is left stand in the index over source and stamp.
  uncount:
    'UPDATE sources SET point_count = point_count - @count, ' +
    'first_stamp_ms = (SELECT min(stamp_ms) FROM points WHERE source_key = @key), ' +
    'last_stamp_ms = (SELECT max(stamp_ms) FROM points WHERE source_key = @key) WHERE key = @key RETURNING point_count',
  removeChannels: 'DELETE FROM channels WHERE source_key = ?',
  removeSource: 'DELETE FROM sources WHERE key = ?',
  commandHeads:
    'SELECT key, created_at_ms AS createdMs, finished_at_ms AS finishedMs, ' +
    'octet_length(payload) + coalesce(octet_length(result), 0) AS bytes ' +
    'FROM commands WHERE key > ? ORDER BY key LIMIT ?',
  removeCommand: 'DELETE FROM commands WHERE key = ?',
} as const;
