import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openStoreFile, type StoreFile } from '../disk/store-file.js';
import { freshUuid, silent, tempDataDir } from './fixture.js';
import { SPOOL_MIGRATIONS } from './schema.js';
import { prepareSpool } from './store-sql.js';

const LARGE_BYTES = 1024 * 1024;

function open(path: string): StoreFile {
  const options = { path, migrations: SPOOL_MIGRATIONS, newId: freshUuid, now: Date.now, log: silent };
  return openStoreFile(options, (file) => file);
}

/** By this process, of which Linux keeps count. */
function bytesRead(): number {
  const [, bytes] = /^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8')) ?? [];
  return Number(bytes);
}

it.runIf(process.platform === 'linux')('tells what a batch holds, by channel, without reading its bodies', () => {
  const path = join(tempDataDir(), 'spool.db');
  const written = open(path);
  const { insert } = prepareSpool(written.db);
  for (const id of [1, 2, 3]) insert.run(id, id === 2 ? 1 : 2, 0, new Uint8Array(LARGE_BYTES));
  written.db.close();
  // Opened anew, nothing of it is in memory.
  const { db } = open(path);
  onTestFinished(() => void db.close());
  const sql = prepareSpool(db);
  const before = bytesRead();
  expect(sql.heldIn.all(1, 3)).toEqual([
    { channel: 1, rows: 1, bytes: LARGE_BYTES },
    { channel: 2, rows: 2, bytes: 2 * LARGE_BYTES },
  ]);
  expect(bytesRead() - before).toBeLessThan(LARGE_BYTES / 8);
});
