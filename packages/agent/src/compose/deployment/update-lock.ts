import { spawn } from 'node:child_process';
import { closeSync, constants, fchmodSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';

/** One that is free is had sooner. */
const HELD_AFTER_MS = 300;
const HOLDER_LENGTH_MAX = 256;
const READABLE_BY_ALL = 0o644;

/**
 * Whoever may write in its directory, a container too, could put another thing in its place: a link is not followed, and a pipe is not
 * waited for.
 */
const CAREFULLY = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The lock's file can't be opened: whether anybody holds it is not known, so nothing is changed. */
export class UpdateLockError extends Error {
  override readonly name = 'UpdateLockError';
  constructor(path: string) {
    super(
      `the update lock ${path} can not be used: see that its directory is there, that the agent's user may write in it, and that ` +
        'it is a file, no link',
    );
  }
}

/**
 * The lock by which the robot's own programs hold a change of its containers off: a file, locked with flock(2), for instance by
 * `flock FILE my-mission`. The agent holds it while it changes them, so that what begins meanwhile waits.
 *
 * Node has no flock: a `flock` program locks the file that we have opened, and the lock is ours for as long as we have it open, so that
 * an agent that is killed lets go.
 */
export class UpdateLock {
  readonly #path: string;
  readonly #onMissing: () => void;

  /** @param onMissing called where the machine has no `flock` program: then nobody can hold the lock. */
  constructor(options: { path: string; onMissing: () => void }) {
    this.#path = options.path;
    this.#onMissing = options.onMissing;
  }

  /**
   * Waits for the lock.
   * @param onHeld called once where another has it.
   * @returns the release function.
   * @throws UpdateLockError, or the signal's reason.
   */
  async take(signal: AbortSignal, onHeld: (holder: string) => void): Promise<() => void> {
    signal.throwIfAborted();
    const file = this.#open();
    const locking = spawn('flock', ['3'], {
      stdio: ['ignore', 'ignore', 'ignore', file],
      // A terminal's Ctrl-C is for the agent.
      detached: true,
    });
    const giveUp = () => void locking.kill('SIGKILL');
    const held = setTimeout(() => onHeld(this.holder() ?? 'a program that can not be seen from here'), HELD_AFTER_MS);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      const end = await new Promise<number | 'missing' | null>((resolve) => {
        // For want of memory, say, nobody knows whether it is held.
        locking.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ENOENT' ? 'missing' : null));
        locking.on('exit', resolve);
      });
      signal.throwIfAborted();
      if (end === 'missing') this.#onMissing();
      else if (end !== 0) throw new UpdateLockError(this.#path);
    } catch (error) {
      closeSync(file);
      throw error;
    } finally {
      clearTimeout(held);
      signal.removeEventListener('abort', giveUp);
    }
    let isHeld = true;
    return () => {
      if (isHeld) closeSync(file);
      isHeld = false;
    };
  }

  /** Who has it: what the file says, else the process that locked it; null where that is not known. */
  holder(): string | null {
    try {
      const file = openSync(this.#path, constants.O_RDONLY | CAREFULLY);
      try {
        const { ino } = fileStatus(file);
        return beginningOf(file) || processThatLocks(ino);
      } finally {
        closeSync(file);
      }
    } catch {
      // Gone meanwhile, or of another machine's view (a container's).
      return null;
    }
  }

  /**
   * Makes the file, so that others can lock it.
   * @returns why it can't be used; null: it can.
   */
  make(): string | null {
    try {
      closeSync(this.#open());
      return null;
    } catch (error) {
      if (error instanceof UpdateLockError) return error.message;
      throw error;
    }
  }

  /** To lock a file it is enough to be able to read it; whoever reaches its directory may. @throws UpdateLockError */
  #open(): number {
    let file: number | null = null;
    try {
      file = openSync(this.#path, constants.O_RDONLY | constants.O_CREAT | CAREFULLY, READABLE_BY_ALL);
      const { uid, mode } = fileStatus(file);
      // As it was made under a stricter umask.
      if (uid === process.getuid?.() && (mode & 0o777) !== READABLE_BY_ALL) fchmodSync(file, READABLE_BY_ALL);
      return file;
    } catch {
      if (file !== null) closeSync(file);
      throw new UpdateLockError(this.#path);
    }
  }
}

/** @throws Error where it is no file. */
function fileStatus(file: number) {
  const status = fstatSync(file);
  if (!status.isFile()) throw new Error('it is no file');
  return status;
}

function beginningOf(file: number): string {
  const bytes = Buffer.alloc(HOLDER_LENGTH_MAX);
  const length = readSync(file, bytes, 0, bytes.length, 0);
  return bytes
    .toString('utf8', 0, length)
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
}

/** By the kernel's list: `1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF` (proc(5)). */
function processThatLocks(ino: number): string | null {
  for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
    const [, kind, , , pid, place] = line.trim().split(/\s+/);
    if (kind !== 'FLOCK' || pid === undefined || place?.split(':')[2] !== String(ino)) continue;
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
    return `process ${pid}: ${command}`.slice(0, HOLDER_LENGTH_MAX);
  }
  return null;
}
