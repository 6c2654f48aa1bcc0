import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempDir } from '../testing/cloud.js';
import { BackupError, backUpStore } from './backup.js';
import { openStore, STORE_FILE } from './store.js';

describe('a backup', () => {
  let dir: ReturnType<typeof tempDir>;
  let dataDir: string;
  let target: string;
  beforeEach(async () => {
    dir = tempDir();
    dataDir = join(dir.path, 'data');
    target = join(dir.path, 'backup.db');
    const store = openStore({ dataDir, nowMs: 1 });
    await store.db.insertInto('tenants').values({ uuid: 'one', name: 'one', created_at_ms: 1 }).execute();
    await store.close();
  });
  afterEach(() => dir.remove());

  const tenants = (file: string) => {
    const raw = new Sqlite(file, { readonly: true });
    try {
      return raw.prepare<[], string>('SELECT name FROM tenants ORDER BY key').pluck().all();
    } finally {
      raw.close();
    }
  };

  it('is the whole store in one file, readable by its owner alone', () => {
    const { file, bytes } = backUpStore(dataDir, target);
    expect([file, bytes, statSync(file).mode & 0o777]).toEqual([target, statSync(target).size, 0o600]);
    expect(tenants(target)).toEqual(['one']);
    expect(existsSync(`${target}.partial`)).toBe(false);
  });

  it('has what is committed and still in the WAL, and goes on from there as a store', async () => {
    const store = openStore({ dataDir, nowMs: 1 });
    await store.db.insertInto('tenants').values({ uuid: 'two', name: 'two', created_at_ms: 2 }).execute();
    backUpStore(dataDir, join(dir.path, STORE_FILE));
    await store.close();
    const restored = openStore({ dataDir: dir.path, nowMs: 3 });
    await restored.db.insertInto('tenants').values({ uuid: 'three', name: 'three', created_at_ms: 3 }).execute();
    await restored.close();
    expect(tenants(join(dir.path, STORE_FILE))).toEqual(['one', 'two', 'three']);
    expect(tenants(join(dataDir, STORE_FILE))).toEqual(['one', 'two']);
  });

  it('goes to no name that SQLite keeps for the store’s own files, and would remove', () => {
    for (const suffix of ['-wal', '-shm', '-journal']) {
      const file = join(dataDir, STORE_FILE + suffix);
      expect(() => backUpStore(dataDir, file)).toThrow(BackupError);
      expect(existsSync(file)).toBe(false);
    }
  });

  it('does not wait for a transaction that writes, and has nothing of it', () => {
    const writer = new Sqlite(join(dataDir, STORE_FILE));
    writer.exec(`BEGIN IMMEDIATE; INSERT INTO tenants (uuid, name, created_at_ms) VALUES ('two', 'two', 2)`);
    backUpStore(dataDir, target);
    writer.exec('COMMIT');
    writer.close();
    expect(tenants(target)).toEqual(['one']);
  });

  it('leaves out what was removed: a backup put in its place is how a store gets smaller', async () => {
    const store = openStore({ dataDir, nowMs: 1 });
    await store.exclusive((raw) => {
      raw.exec(`INSERT INTO schemas (hash, type, text) VALUES ('h', 't', hex(zeroblob(2000000)))`);
      raw.exec('DELETE FROM schemas');
    });
    await store.close();
    expect(statSync(join(dataDir, STORE_FILE)).size).toBeGreaterThan(4_000_000);
    expect(backUpStore(dataDir, target).bytes).toBeLessThan(1_000_000);
  });

  it('never replaces a file', () => {
    writeFileSync(target, 'precious');
    expect(() => backUpStore(dataDir, target)).toThrow(BackupError);
    expect(() => backUpStore(dataDir, target)).toThrow(/is there already/);
    expect(readFileSync(target, 'utf8')).toBe('precious');
  });

  it('asks for a file in the directory that it was given, never to remove that', () => {
    const said = () => backUpStore(dataDir, dir.path);
    expect(said).toThrow(`${dir.path} is a directory: name a file in it, like ${join(dir.path, STORE_FILE)}`);
    expect(said).not.toThrow(/remove/);
    expect(() => backUpStore(dataDir, '')).toThrow(/name the file/);
  });

  it('does not take a store that it may not look for as one that is not there', () => {
    // Too long a name for any file system: as with a directory of another user, nobody knows what is there (tests run as root, too).
    const unknowable = join(dir.path, 'x'.repeat(300));
    expect(() => backUpStore(unknowable, target)).toThrow(/the store in .* can not be read: ENAMETOOLONG/);
  });

  it('says so where another one to the same file is under way', () => {
    writeFileSync(`${target}.partial`, 'half');
    expect(() => backUpStore(dataDir, target)).toThrow(/\.partial is there: another backup/);
    expect(readFileSync(`${target}.partial`, 'utf8')).toBe('half');
  });

  it('says which directory is missing', () => {
    expect(() => backUpStore(dataDir, join(dir.path, 'nowhere', 'x.db'))).toThrow(
      /nowhere is not there: make it first/,
    );
    expect(() => backUpStore(join(dir.path, 'nowhere'), target)).toThrow(/there is no store in .*DROVER_DATA_DIR/);
    expect(existsSync(target)).toBe(false);
  });

  it('says that the disk is full, and leaves nothing behind', async (context) => {
    const small = join(dir.path, 'small');
    mkdirSync(small);
    const store = openStore({ dataDir, nowMs: 1 });
    await store.exclusive((raw) =>
      raw.exec(`INSERT INTO schemas (hash, type, text) VALUES ('h', 't', hex(zeroblob(2000000)))`),
    );
    await store.close();
    const bin = fileURLToPath(new URL('../../bin/drover-cloud.js', import.meta.url));
    // In a mount namespace of its own.
    const script = `mount -t tmpfs -o size=1m none "$1" || exit 99
      "$2" "$3" backup "$1/backup.db"; echo "code $?"; ls -A "$1"`;
    const args = ['-rm', 'sh', '-c', script, 'sh', small, process.execPath, bin];
    const env = { ...process.env, DROVER_DATA_DIR: dataDir };
    const { stdout, stderr, status } = spawnSync('unshare', args, { env, encoding: 'utf8' });
    if (status !== 0 && !process.env.CI) return context.skip('needs unshare and tmpfs');
    expect(stderr).toContain(`no room for a backup in ${small}`);
    expect(stdout.trim()).toBe('code 1');
  });

  it('says that the store is corrupt', () => {
    writeFileSync(join(dataDir, STORE_FILE), Buffer.alloc(8192, 7));
    expect(() => backUpStore(dataDir, target)).toThrow(/store can not be read/);
    expect(existsSync(`${target}.partial`)).toBe(false);
  });
});
