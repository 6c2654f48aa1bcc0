import { execFileSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import Sqlite from 'better-sqlite3';
import { descriptorsMax } from './process-stats.js';

/** What the figures of a run are to be read by. */
export interface Machine {
  readonly at: string;
  readonly commit: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  readonly sqlite: string;
  readonly descriptorsMax: number;
  /** Others' load when the run began: with more than a little of it, ratios are all that counts, and few of those. */
  readonly loadAtStart: number;
}

export function machine(checkout: string): Machine {
  const memory = new Sqlite(':memory:');
  const sqlite = String(memory.prepare('SELECT sqlite_version()').pluck().get());
  memory.close();
  return {
    at: new Date().toISOString(),
    commit: commitOf(checkout),
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round((totalmem() / 2 ** 30) * 10) / 10,
    kernel: release(),
    node: process.version,
    sqlite,
    descriptorsMax: descriptorsMax(),
    loadAtStart: loadavg()[0] ?? Number.NaN,
  };
}

/** Whether a folder is on a tmpfs (statfs(2): its magic number). */
export function isMemory(folder: string): boolean {
  return statfsSync(folder).type === 0x0102_1994;
}

function commitOf(checkout: string): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { cwd: checkout, encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}
