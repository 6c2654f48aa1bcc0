import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { withStatementCache } from './statement-cache.js';

it('prepares a query once, as long as it is used, and follows a changed schema', () => {
  const raw = new Sqlite(':memory:');
  const database = withStatementCache(raw);
  raw.exec('CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)');
  const all = () => database.prepare('SELECT * FROM t').all();
  const kept = database.prepare('SELECT * FROM t');
  expect(all()).toEqual([{ a: 1 }]);
  for (let n = 0; n < 2_000; n += 1) {
    database.prepare(`SELECT ${n}`).get();
    if (n % 100 === 0) expect(database.prepare('SELECT * FROM t')).toBe(kept);
  }
  raw.exec('ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 2');
  expect(all()).toEqual([{ a: 1, b: 2 }]);
  const early = database.prepare('SELECT 0');
  for (let n = 1; n <= 500; n += 1) database.prepare(`SELECT ${n}`);
  expect(database.prepare('SELECT 0')).not.toBe(early);
  database.close();
});
