import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { tempDataDir } from './fixture.js';

/** As crash-writer.fixture.ts does. */
const APPEND_EVERY_MS = 5;

it('a kill -9 costs at most 250 ms of samples, the newest, and nothing before them', async () => {
  const dataDir = tempDataDir();
  const script = fileURLToPath(new URL('../../dist/spool/crash-writer.fixture.js', import.meta.url));
  const writer = spawn(process.execPath, [script, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(writer, 'exit');
  const appendedMs: number[] = [];
  for await (const line of createInterface({ input: writer.stdout })) {
    const [n, atMs = Number.NaN] = line.split(' ').map(Number);
    appendedMs.push(atMs);
    if (n === 200) writer.kill('SIGKILL');
  }
  await exited;

  const db = new Database(join(dataDir, 'spool.db'));
  const bodies = db.prepare<[], Buffer>('SELECT body FROM rows ORDER BY id').pluck().all();
  db.close();
  const kept = bodies.map((cdr) => cdr.readDoubleBE(4));
  expect(kept.length).toBeGreaterThan(0);
  expect(kept).toEqual(kept.map((_, i) => i + 1));
  let lostMs = 0;
  for (let at = kept.length; at < appendedMs.length; at += 1) {
    const sinceLastMs = (appendedMs[at] ?? 0) - (appendedMs[at - 1] ?? 0);
    // What the machine kept the writer from running is not the spool's.
    lostMs += Math.min(sinceLastMs, 2 * APPEND_EVERY_MS);
  }
  expect(lostMs).toBeLessThanOrEqual(250);
});
