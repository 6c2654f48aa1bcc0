import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempDataDir } from '../../spool/fixture.js';
import { UpdateLock, UpdateLockError } from './update-lock.js';

function lockFile() {
  const path = join(tempDataDir(), 'update.lock');
  const lock = new UpdateLock({ path, onMissing: () => expect.fail('no flock here') });
  return { path, lock };
}

/** A program of the robot's that holds the lock, until it is told to end. */
async function mission(path: string): Promise<() => Promise<unknown>> {
  const program = spawn('flock', [path, 'sh', '-c', 'echo begun; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void program.kill('SIGKILL'));
  await once(program.stdout, 'data');
  return async () => {
    program.stdin.end();
    await once(program, 'exit');
  };
}

const never = new AbortController().signal;

describe('the update lock', () => {
  it('is had at once where nobody holds it, and then holds programs off until it is released', async () => {
    const { path, lock } = lockFile();
    const release = await lock.take(never, () => expect.fail('nobody holds it'));
    expect(spawnSync('flock', ['-n', path, 'true']).status).toBe(1);
    const waiting = mission(path);
    release();
    await (await waiting)();
  });

  it('is waited for while a program holds it, who is named', async () => {
    const { path, lock } = lockFile();
    const end = await mission(path);
    const holder = await new Promise<string>((resolve) => {
      const taken = lock.take(never, (by) => {
        resolve(by);
        void end();
      });
      onTestFinished(async () => (await taken)());
    });
    expect(holder).toMatch(/^process \d+: flock /);
  });

  it('names who holds it as its file says', async () => {
    const { path, lock } = lockFile();
    writeFileSync(path, 'night shift\n');
    expect(lock.holder()).toBe('night shift');
  });

  it('is no longer waited for when the wait is called off', async () => {
    const { path, lock } = lockFile();
    const end = await mission(path);
    const off = new AbortController();
    const taken = lock.take(off.signal, () => off.abort());
    await expect(taken).rejects.toThrow('aborted');
    await end();
  });

  it('that can not be opened holds everything off, and says why', async () => {
    const lock = new UpdateLock({ path: join(tempDataDir(), 'none', 'update.lock'), onMissing: () => {} });
    await expect(lock.take(never, () => {})).rejects.toThrow(UpdateLockError);
    expect(lock.make()).toContain('can not be used');
  });

  it('that is no file is told as such: a pipe is not waited for, and where a link leads is left as it is', async () => {
    const pipe = lockFile();
    execFileSync('mkfifo', [pipe.path]);
    const directory = lockFile();
    mkdirSync(directory.path);
    const link = lockFile();
    const token = `${link.path}.token`;
    writeFileSync(token, 'secret', { mode: 0o600 });
    symlinkSync(token, link.path);
    const nowhere = lockFile();
    symlinkSync(`${nowhere.path}.none`, nowhere.path);
    for (const { lock } of [pipe, directory, link, nowhere]) {
      expect(lock.make()).toContain('that it is a file');
      expect(lock.holder()).toBeNull();
      await expect(lock.take(never, () => {})).rejects.toThrow(UpdateLockError);
    }
    expect(statSync(token).mode & 0o777).toBe(0o600);
    expect(existsSync(`${nowhere.path}.none`)).toBe(false);
  });

  it('says no more of its holder than the beginning of a file, whatever is in it', () => {
    const { path, lock } = lockFile();
    writeFileSync(path, 'night\u0000shift');
    truncateSync(path, 2 ** 40);
    expect(lock.holder()).toBe('night shift');
  });

  it('is let go when it is released, whatever programs were started meanwhile', async () => {
    const { path, lock } = lockFile();
    const release = await lock.take(never, () => {});
    const child = spawn('sleep', ['1000']);
    onTestFinished(() => void child.kill('SIGKILL'));
    release();
    await (await mission(path))();
  });

  it('is there before anything is changed, so that others can take it', async () => {
    const { path, lock } = lockFile();
    expect(lock.make()).toBeNull();
    expect(statSync(path).mode & 0o777).toBe(0o644);
  });
});
