import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, closeSync, openSync, readFileSync, statSync } from 'node:fs';

/** One that is free is had sooner. */
const HELD_AFTER_MS = 300;
const HOLDER_LENGTH_MAX = 256;

/** The lock's file can't be opened: whether anybody holds it is not known, so nothing is changed. */
export class UpdateLockError extends Error {
  override readonly name = 'UpdateLockError';
  constructor(path: string) {
    super(
      `the update lock ${path} can not be used: see that its directory is there, that the agent's user may write in it, and that it is a file`,
    );
  }
}

/**
 * The lock by which the robot's own programs hold a change of its containers off: a file, locked with flock(2), for instance by
 * `flock FILE my-mission`. The agent holds it while it changes them, so that what begins meanwhile waits.
 *
 * Node has no flock: a `flock` program holds it for us, for as long as the pipe to it stands, so that an agent that is killed lets go.
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
    if (this.make() !== null) throw new UpdateLockError(this.#path);
    const holder = spawn('flock', [this.#path, 'sh', '-c', 'echo taken; exec cat >/dev/null'], {
      stdio: ['pipe', 'pipe', 'ignore'],
      // A terminal's Ctrl-C is for the agent.
      detached: true,
    });
    const release = () => end(holder);
    const held = setTimeout(() => onHeld(this.holder() ?? 'a program that can not be seen from here'), HELD_AFTER_MS);
    signal.addEventListener('abort', release, { once: true });
    try {
      const end = await new Promise<'taken' | 'missing' | 'ended'>((resolve) => {
        holder.on('error', () => resolve('missing'));
        holder.on('exit', () => resolve('ended'));
        holder.stdout?.once('data', () => resolve('taken'));
      });
      signal.throwIfAborted();
      if (end === 'taken') return release;
      if (end === 'missing') {
        this.#onMissing();
        return () => {};
      }
      throw new UpdateLockError(this.#path);
    } finally {
      clearTimeout(held);
      signal.removeEventListener('abort', release);
    }
  }

  /** Who has it: what the file says, else the process that locked it; null where that is not known. */
  holder(): string | null {
    if (!this.#isUsable()) return null;
    try {
      const said = readFileSync(this.#path, 'utf8').trim();
      if (said !== '') return said.slice(0, HOLDER_LENGTH_MAX);
      const { ino } = statSync(this.#path);
      for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
        const [, kind, , , pid, place] = line.trim().split(/\s+/);
        if (kind !== 'FLOCK' || pid === undefined || place?.split(':')[2] !== String(ino)) continue;
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
        return `process ${pid}: ${command}`.slice(0, HOLDER_LENGTH_MAX);
      }
    } catch {
      // Gone meanwhile, or of another machine's view (a container's).
    }
    return null;
  }

  /**
   * Makes the file, so that others can lock it: to be able to read it is enough, and whoever reaches its directory may.
   * @returns why it can't be used; null: it can.
   */
  make(): string | null {
    if (!this.#isUsable()) return new UpdateLockError(this.#path).message;
    try {
      closeSync(openSync(this.#path, 'a', 0o644));
      chmodSync(this.#path, 0o644);
    } catch {
      // Perhaps made by another user: it is enough to be able to read it.
      if (!this.#isReadable()) return new UpdateLockError(this.#path).message;
    }
    return null;
  }

  /** False where there is something that is no file: to open a pipe, say, waits for who opens its other end. */
  #isUsable(): boolean {
    try {
      return statSync(this.#path, { throwIfNoEntry: false })?.isFile() !== false;
    } catch {
      return false;
    }
  }

  #isReadable(): boolean {
    try {
      closeSync(openSync(this.#path, 'r'));
      return true;
    } catch {
      return false;
    }
  }
}

function end(holder: ChildProcess): void {
  holder.stdin?.destroy();
  holder.kill('SIGKILL');
}
