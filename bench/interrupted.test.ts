import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { descendantsOf } from './harness/interrupted.js';

const program = fileURLToPath(new URL('dist/main.js', import.meta.url));

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)(
  'a run that is ended by %s leaves no process and no folder behind',
  async (signal, code) => {
    const tmp = await mkdtemp(join(tmpdir(), 'drover-bench-interrupted-'));
    onTestFinished(() => rm(tmp, { recursive: true, force: true }));
    const out = await mkdtemp(join(tmpdir(), 'drover-bench-out-'));
    onTestFinished(() => rm(out, { recursive: true, force: true }));
    const args = [program, 'vitals', '--smoke', '--tmp', tmp, '--out', out];
    const bench = spawn(process.execPath, args, { stdio: 'ignore' });
    onTestFinished(() => void bench.kill('SIGKILL'));
    const exited = once(bench, 'exit');
    // The cloud, the bare server and robots of both.
    let started: number[] = [];
    while (started.length < 4) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(bench.exitCode).toBeNull();
      started = descendantsOf(bench.pid ?? -1);
    }
    bench.kill(signal);
    expect(await exited).toEqual([code, null]);
    // None is left to anybody else either.
    expect(started.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
    expect([await readdir(tmp), await readdir(out)]).toEqual([[], []]);
  },
  120_000,
);
