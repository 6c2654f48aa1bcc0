/** What a process has used, by /proc (Linux). */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

let ticksPerS: number | undefined;

/** Seconds of CPU, user and system, of all threads; in steps of a clock tick (10 ms). */
export function cpuSeconds(pid: number): number {
  ticksPerS ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in brackets, may hold anything; user and system time are the 12th and 13th after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerS;
}

/** Resident memory, bytes. */
export function rssBytes(pid: number): number {
  const [, kB = 'NaN'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kB) * 1024;
}

/** Bytes that the process made the kernel write to disk: pages that it made dirty, whole. */
export function diskBytesWritten(pid: number): number {
  const [, bytes = 'NaN'] = /^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8')) ?? [];
  return Number(bytes);
}

/** Descriptors that a process of ours may have: Node raises the soft limit to the hard one by itself. */
export function descriptorsMax(): number {
  const [, hard = 'NaN'] = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard);
}

/** The agent of a supervisor: the one of its children that is a Node. */
export function agentOf(supervisor: number): number {
  const children = readFileSync(`/proc/${supervisor}/task/${supervisor}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number);
  const agent = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('node'));
  if (agent === undefined) throw new Error('the supervisor has no agent');
  return agent;
}

/** What a piece of work cost a process, and took. */
export async function costOf<T>(
  pid: number,
  work: () => Promise<T>,
): Promise<{ result: T; cpuS: number; wallS: number }> {
  const [cpuS, startMs] = [cpuSeconds(pid), performance.now()];
  const result = await work();
  return { result, cpuS: cpuSeconds(pid) - cpuS, wallS: (performance.now() - startMs) / 1000 };
}

/** Begins to watch the machine; what it returns tells by what share of all cores it has been busy since, whoever with. */
export function busyMeter(): () => number {
  const before = coreTimes();
  return () => {
    const now = coreTimes();
    return (now.busy - before.busy) / (now.all - before.all);
  };
}

function coreTimes(): { busy: number; all: number } {
  const times = cpus().map(({ times: { user, nice, sys, irq, idle } }) => ({ busy: user + nice + sys + irq, idle }));
  const busy = times.reduce((sum, core) => sum + core.busy, 0);
  return { busy, all: times.reduce((sum, core) => sum + core.idle, busy) };
}
