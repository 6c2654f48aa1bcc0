import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** A write or a flush of a traced process, in their order; flushes stand where they returned. */
export interface SystemCall {
  readonly atMs: number;
  readonly kind: 'write' | 'flush';
  /** Path of the file, or `TCP:…`. */
  readonly target: string;
  readonly bytes: number;
  /** What was written, cut, as strace shows it. */
  readonly text: string;
}

const WRITES = ['write', 'writev', 'pwrite64', 'sendto', 'sendmsg'];
const FLUSHES = ['fsync', 'fdatasync'];

/** What a process writes to files and sockets, and what it flushes, by strace. */
export class SystemCalls {
  readonly #dir = mkdtempSync(join(tmpdir(), 'drover-strace-'));
  readonly #file = join(this.#dir, 'calls');

  /** Runs a program under this: `-D` leaves it our child, to be signalled as ever. */
  get within(): string[] {
    const calls = [...WRITES, ...FLUSHES].join(',');
    return ['strace', '-D', '-f', '-yy', '-ttt', '-s', '160', '-o', this.#file, '-e', `trace=${calls}`];
  }

  /** All up to now. */
  read(): SystemCall[] {
    const calls: SystemCall[] = [];
    const unfinished = new Map<string, string>();
    for (const line of readFileSync(this.#file, 'latin1').split('\n')) {
      const [, pid = '', at = '', rest = ''] = /^(\d+) +([\d.]+) (.*)$/.exec(line) ?? [];
      const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
      if (rest.endsWith('<unfinished ...>')) {
        unfinished.set(pid, rest.slice(0, -'<unfinished ...>'.length));
        continue;
      }
      const text = resumed ? (unfinished.get(pid) ?? '') + resumed[1] : rest;
      const [, name = '', target = '', content = '', result = ''] =
        /^(\w+)\(\d+<(.*?)>(?:<[^"]*?>)?(.*) = (-?\d+)/.exec(text) ?? [];
      const kind = WRITES.includes(name) ? 'write' : FLUSHES.includes(name) ? 'flush' : null;
      if (kind !== null && Number(result) >= 0) {
        calls.push({ atMs: Number(at) * 1000, kind, target, bytes: Number(result), text: content });
      }
    }
    return calls;
  }

  remove(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** For tests by strace: skipped where it is missing, failed under CI=true. */
export function describeTraced(name: string, tests: () => void): void {
  const { status, stderr, error } = spawnSync('strace', ['-o', '/dev/null', 'true'], { encoding: 'utf8' });
  const reason = status === 0 ? null : (error?.message ?? stderr.trim());
  if (reason === null) describe(name, tests);
  else if (process.env.CI === 'true') it(name, () => expect.fail(`strace is needed for this: ${reason}`));
  else describe.skip(`${name} (install strace: ${reason})`, tests);
}
