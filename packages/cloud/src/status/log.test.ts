import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../testing/cloud.js';
import { createLog, gatheredLines } from './log.js';

/** What SQLite itself throws when there is no room. */
function fullDisk(): unknown {
  const db = new Database(':memory:');
  try {
    db.exec('CREATE TABLE t (x); PRAGMA max_page_count = 3');
    db.prepare('INSERT INTO t VALUES (zeroblob(100000))').run();
  } catch (error) {
    return error;
  } finally {
    db.close();
  }
  throw new RangeError('there was room');
}

function start() {
  const lines: Record<string, unknown>[] = [];
  const clock = { ms: 0 };
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = createLog({ level: 'info', monotonicNow: () => clock.ms, destination });
  return { log, lines, clock };
}

describe('the log', () => {
  it('says of a full disk one line a minute and message, with why and how often, and no stack', () => {
    const { log, lines, clock } = start();
    const err = fullDisk();
    for (let second = 0; second < 75; second += 1) {
      clock.ms = second * 1_000;
      log.child({ part: 'gateway' }).error({ err, robots: 1 }, 'presence not stored');
      log.error({ err }, 'the state of links could not be written');
    }
    const ours = lines.map(({ msg, why, code, unsaid_before: unsaid }) => [msg, why, code, unsaid]);
    const told = ['its disk is full', 'SQLITE_FULL'];
    expect(ours).toEqual([
      ['presence not stored', ...told, undefined],
      ['the state of links could not be written', ...told, undefined],
      ['presence not stored', ...told, 59],
      ['the state of links could not be written', ...told, 59],
    ]);
    expect(lines[0]).toMatchObject({ part: 'gateway', robots: 1 });
    expect(JSON.stringify(lines)).not.toContain('stack');
  });

  it('says every other failure each time, with its stack', () => {
    const { log, lines } = start();
    for (let n = 0; n < 2; n += 1) log.error({ err: new TypeError('a defect') }, 'session failed');
    expect(lines.map(({ err }) => err)).toEqual([
      expect.objectContaining({ message: 'a defect', stack: expect.any(String) }),
      expect.objectContaining({ message: 'a defect', stack: expect.any(String) }),
    ]);
  });

  it('writes lines some at once, and a warning at once with those before it, in their order', () => {
    const dir = tempDir();
    const file = join(dir.path, 'log');
    const destination = gatheredLines(file);
    const log = createLog({ level: 'info', monotonicNow: () => 0, destination });
    const written = () =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line).msg);
    log.info('one');
    log.child({ part: 'gateway' }).info('two');
    expect(written()).toEqual([]);
    log.child({ part: 'gateway' }).warn('three');
    expect(written()).toEqual(['one', 'two', 'three']);
    dir.remove();
  });

  it('writes the lines of a turn at its end', async () => {
    const dir = tempDir();
    const file = join(dir.path, 'log');
    const log = createLog({ level: 'info', monotonicNow: () => 0, destination: gatheredLines(file) });
    log.info('one');
    log.info('two');
    await new Promise((resolve) => setImmediate(resolve));
    expect(readFileSync(file, 'utf8').match(/one|two/g)).toEqual(['one', 'two']);
    dir.remove();
  });

  it('writes what waits when the process ends', () => {
    const dir = tempDir();
    const file = join(dir.path, 'log');
    const others = new Set(process.listeners('exit'));
    const log = createLog({ level: 'info', monotonicNow: () => 0, destination: gatheredLines(file) });
    log.info('last words');
    for (const atExit of process.listeners('exit')) if (!others.has(atExit)) atExit(0);
    expect(readFileSync(file, 'utf8')).toContain('last words');
    dir.remove();
  });
});
