import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { freshUuid, point, tempDataDir } from './fixture.js';
import { openSpool } from './open.js';

it.each([
  ['marks', '{"inode":'],
  ['marks', '{"inode":5}'],
  ['copied_before_id', 'soon'],
])('a spool whose entry %s is %s is set aside with words, and a new one begun under a new id', (key, value) => {
  const dataDir = tempDataDir();
  const said: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line) => void said.push(JSON.parse(line)) });
  const open = () => {
    const clocks = { now: Date.now, monotonicNow: () => performance.now() };
    return openSpool({ dataDir, newId: freshUuid, ...clocks, log, bytesMax: 1e9 });
  };
  const before = open();
  before.append(point(1));
  before.close();
  const db = new Database(join(dataDir, 'spool.db'));
  db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)').run(key, value);
  db.close();
  const after = open();
  expect(after.id).not.toBe(before.id);
  after.close();
  expect(said).toMatchObject([{ level: 50, why: 'corrupt', detail: `its entry meta.${key} makes no sense` }]);
  expect(readdirSync(dataDir).some((name) => name.startsWith('spool.db.corrupt-'))).toBe(true);
});
