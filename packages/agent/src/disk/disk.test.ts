import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { freshUuid, silent, tempDataDir } from '../spool/fixture.js';
import { writeDurably } from './durable-file.js';
import { DataDirBusyError, lockDataDir } from './instance-lock.js';
import { openStoreFile, type StoreFileOptions } from './store-file.js';

describe('the lock of a data directory', () => {
  it('lets one in, and the next once it is released', () => {
    const dir = tempDataDir();
    const release = lockDataDir(dir);
    expect(() => lockDataDir(dir)).toThrow(DataDirBusyError);
    release();
    lockDataDir(dir)();
  });

  it('is gone with the process that held it, killed or not', () => {
    const dir = tempDataDir();
    const module = fileURLToPath(new URL('../../dist/disk/instance-lock.js', import.meta.url));
    const script = `import { lockDataDir } from ${JSON.stringify(module)};
      lockDataDir(${JSON.stringify(dir)}); process.kill(process.pid, 'SIGKILL');`;
    const { signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
    expect(signal).toBe('SIGKILL');
    lockDataDir(dir)();
  });
});

const openAsIs = (options: StoreFileOptions) => openStoreFile(options, (file) => file);

describe('a store file', () => {
  const options = (dir: string, overrides: Partial<StoreFileOptions> = {}): StoreFileOptions => ({
    path: join(dir, 'x.db'),
    migrations: ['CREATE TABLE a (n INTEGER) STRICT'],
    newId: freshUuid,
    now: () => Date.UTC(2026, 0, 2),
    log: silent,
    ...overrides,
  });

  it('keeps its id and its owner, and gets each migration once', () => {
    const dir = tempDataDir();
    const first = openAsIs(options(dir));
    first.setOwner({ id: 'robot-1', uid: null });
    first.db.exec('INSERT INTO a VALUES (1)');
    first.db.close();
    const migrations = [...options(dir).migrations, 'CREATE TABLE b (n INTEGER) STRICT'];
    const again = openAsIs(options(dir, { migrations }));
    expect([again.id, again.owner()]).toEqual([first.id, { id: 'robot-1', uid: null }]);
    expect(again.db.prepare('SELECT n FROM a').pluck().all()).toEqual([1]);
    expect(again.db.prepare('SELECT n FROM b').pluck().all()).toEqual([]);
  });

  it('of a newer agent is set aside rather than misread, and one such file is kept', () => {
    const dir = tempDataDir();
    const newer = options(dir, { migrations: [...options(dir).migrations, 'CREATE TABLE b (n INTEGER) STRICT'] });
    const { id, db } = openAsIs(newer);
    db.close();
    writeFileSync(join(dir, 'x.db.corrupt-2020-01-01T00-00-00.000Z'), 'an older one');
    expect(openAsIs(options(dir)).id).not.toBe(id);
    const aside = readdirSync(dir).filter((name) => name.startsWith('x.db.corrupt-') && name.endsWith('Z'));
    expect(aside).toEqual(['x.db.corrupt-2026-01-02T00-00-00.000Z']);
  });

  it('in a directory that is none is an error, not a corrupt file', () => {
    const dir = tempDataDir();
    expect(() => openAsIs(options(join(dir, 'missing')))).toThrow();
    expect(existsSync(join(dir, 'missing'))).toBe(false);
  });
});

describe('writing durably', () => {
  it('keeps the old text where the disk takes only a part of the new one', () => {
    const path = join(tempDataDir(), 'desired.json');
    writeDurably(path, 'old');
    const module = fileURLToPath(new URL('../../dist/disk/durable-file.js', import.meta.url));
    const script = `import { writeDurably } from ${JSON.stringify(module)};
      writeDurably(${JSON.stringify(path)}, 'x'.repeat(100_000));`;
    // No file may grow past 8 KiB: as on a disk with so much left, the first write is cut short and says so.
    const limited = `trap '' XFSZ; ulimit -f 8; exec "$0" --input-type=module -e "$1"`;
    const { status, stderr } = spawnSync('bash', ['-c', limited, process.execPath, script], { encoding: 'utf8' });
    expect(stderr).toContain('EFBIG');
    expect(status).toBe(1);
    expect(readFileSync(path, 'utf8')).toBe('old');
  });

  it('replaces the file whole, or leaves the old one', () => {
    const dir = tempDataDir();
    const path = join(dir, 'state.json');
    writeDurably(path, 'old');
    writeDurably(path, 'new');
    expect(readFileSync(path, 'utf8')).toBe('new');
    mkdirSync(`${path}.new`);
    expect(() => writeDurably(path, 'newer')).toThrow();
    expect(readFileSync(path, 'utf8')).toBe('new');
  });
});
