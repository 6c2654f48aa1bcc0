import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The value below which this share of the values lies; NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** How many of the values lie in each step from `from` on. */
export function histogram(values: readonly number[], from: number, stepMs: number, steps: number): number[] {
  const counts = new Array<number>(steps).fill(0);
  for (const value of values) {
    const step = Math.floor((value - from) / stepMs);
    if (step >= 0 && step < steps) counts[step] = (counts[step] ?? 0) + 1;
  }
  return counts;
}

/** Seconds of CPU that a process has used (Linux). */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in brackets, may hold anything; user and system time are the 12th and 13th after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticksPerS = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  return (Number(fields[11]) + Number(fields[12])) / ticksPerS;
}

/** Resident memory of a process, MB (Linux). */
export function rssMb(pid: number): number {
  const [, kb = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kb) / 1024;
}

/** Prints what was measured, as one line that a person can read and a program can find. */
export function report(what: string, figures: Record<string, unknown>): void {
  process.stdout.write(`${what}: ${JSON.stringify(figures)}\n`);
}
