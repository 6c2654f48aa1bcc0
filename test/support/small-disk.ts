import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** A file system of its own, small enough to be filled in a moment. Mounting takes root. */
export class SmallDisk {
  readonly path = mkdtempSync(join(tmpdir(), 'drover-disk-'));
  readonly #ballast = join(this.path, 'ballast');

  /** @param mib its size */
  constructor(mib: number) {
    mount(['-t', 'tmpfs', '-o', `size=${mib}m,mode=755`, 'tmpfs', this.path]);
  }

  /** Leaves not one page, whatever else is written meanwhile. */
  fill(): void {
    const file = openSync(this.#ballast, 'a');
    try {
      for (const bytes of [1024 * 1024, 4096]) {
        const block = Buffer.alloc(bytes, 'x');
        try {
          while (writeSync(file, block) === bytes);
        } catch (error) {
          if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
        }
      }
    } finally {
      closeSync(file);
    }
  }

  /** Gives back what fill() took. */
  free(): void {
    rmSync(this.#ballast, { force: true });
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Only while no file on it is open for writing. */
  setReadOnly(readOnly: boolean): void {
    mount(['-o', `remount,${readOnly ? 'ro' : 'rw'}`, this.path]);
  }

  unmount(): void {
    spawnSync('umount', ['-l', this.path]);
    rmSync(this.path, { recursive: true, force: true });
  }
}

function mount(args: string[]): void {
  const { status, stderr, error } = spawnSync('mount', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`mount ${args.join(' ')}: ${error?.message ?? stderr}`);
}

/** Why no disk can be mounted here; null where it can. */
function whyNot(): string | null {
  try {
    new SmallDisk(1).unmount();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.trim() : String(error);
  }
}

/** For tests that fill disks: skipped with the reason where none can be mounted, failed under CI=true. */
export function describeDisk(name: string, tests: () => void): void {
  const reason = whyNot();
  if (reason === null) {
    describe(name, tests);
  } else if (process.env.CI === 'true') {
    it(`${name}: needs a small disk`, () => expect.fail(`a tmpfs must be mounted for this (run as root): ${reason}`));
  } else {
    describe.skip(`${name} (run as root to mount a tmpfs: ${reason})`, tests);
  }
}
