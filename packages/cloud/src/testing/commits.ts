import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { STORE_FILE } from '../db/store.js';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/**
 * For tests: how many commits the store's write-ahead log holds, each of which was a flush of the disk (synchronous=FULL). To be
 * compared with an earlier count, of a store so young that no checkpoint has begun the log anew (1000 pages).
 * By https://sqlite.org/fileformat2.html#walformat: a frame with the size of the database in it ends a commit.
 */
export function commitsIn(dataDir: string): number {
  const log = readFileSync(join(dataDir, `${STORE_FILE}-wal`));
  if (log.byteLength < HEADER_BYTES) return 0;
  const frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(8);
  const salt = log.subarray(16, 24);
  let commits = 0;
  for (let at = HEADER_BYTES; at + frameBytes <= log.byteLength; at += frameBytes) {
    if (!log.subarray(at + 8, at + 16).equals(salt)) break;
    if (log.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return commits;
}
