import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** libfaketime, as Debian's package `faketime` has it; null where it is not installed. */
function library(): string | null {
  if (!existsSync('/usr/lib')) return null;
  for (const place of readdirSync('/usr/lib')) {
    const path = `/usr/lib/${place}/faketime/libfaketimeMT.so.1`;
    if (existsSync(path)) return path;
  }
  return null;
}

/** The wall clock of a process, as a test sets it; its monotonic clock stays the machine's. A change is seen within a second. */
export class FakeTime {
  readonly #dir = mkdtempSync(join(tmpdir(), 'drover-time-'));

  /** @param offset added to the machine's clock: `-1000d`, `+2h`, `+0` */
  constructor(offset: string) {
    this.set(offset);
  }

  /** For the environment of the process. */
  get env(): Record<string, string> {
    return {
      LD_PRELOAD: library() ?? '',
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
  }

  set(offset: string): void {
    writeFileSync(this.#file, offset);
  }

  remove(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }

  get #file(): string {
    return join(this.#dir, 'offset');
  }
}

/** For tests with libfaketime: skipped, with the remedy, where it is not installed, failed under CI=true. */
export function describeFakeTime(name: string, tests: () => void): void {
  const remedy = 'apt-get install faketime';
  if (library() !== null) {
    describe(name, tests);
  } else if (process.env.CI === 'true') {
    it(`${name}: needs libfaketime`, () => expect.fail(`libfaketime is missing: ${remedy}`));
  } else {
    describe.skip(`${name} (libfaketime is missing: ${remedy})`, tests);
  }
}
