import { statfs } from 'node:fs/promises';
import { cpus } from 'node:os';
import { mem } from 'systeminformation';

/** Percentages of the computer, 0..100. */
export interface SystemLoad {
  readonly cpu: number;
  readonly ram: number;
  readonly disk: number;
}

interface CpuTimes {
  readonly busyMs: number;
  readonly totalMs: number;
}

/**
 * Measures the computer's load at each call. CPU: since the call before, at first since boot. RAM: what programs can't
 * have any more. Disk: of the file system that holds `dataDir`, as df counts it.
 *
 * CPU and disk are not asked of systeminformation: its currentLoad runs `cat` and waits for it (execSync), its fsSize
 * runs `df`; both stop the event loop or fork the agent every few seconds.
 */
export function systemLoadMeter(dataDir: string): () => Promise<SystemLoad> {
  let before: CpuTimes = { busyMs: 0, totalMs: 0 };
  return async () => {
    const [memory, disk] = await Promise.all([mem(), statfs(dataDir)]);
    const now = cpuTimes();
    const cpu = ((now.busyMs - before.busyMs) / (now.totalMs - before.totalMs)) * 100;
    before = now;
    const used = disk.blocks - disk.bfree;
    return { cpu, ram: (1 - memory.available / memory.total) * 100, disk: (used / (used + disk.bavail)) * 100 };
  };
}

function cpuTimes(): CpuTimes {
  let busyMs = 0;
  let totalMs = 0;
  for (const { times } of cpus()) {
    const busy = times.user + times.nice + times.sys + times.irq;
    busyMs += busy;
    totalMs += busy + times.idle;
  }
  return { busyMs, totalMs };
}
