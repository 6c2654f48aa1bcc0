import { CannotRunError } from '../harness/benchmark.js';
import { descriptorsMax } from '../harness/process-stats.js';

/** Files, timers' pipes, the store: what a process has open beside its sessions. */
const OTHER_DESCRIPTORS = 200;

/** @throws CannotRunError that says what to do, where a process may not have so many sessions open */
export function checkDescriptors(sessions: number): void {
  const needed = sessions + OTHER_DESCRIPTORS;
  if (descriptorsMax() >= needed) return;
  throw new CannotRunError(
    `${sessions} sessions take ${needed} open files in one process, and at most ${descriptorsMax()} are allowed here: ` +
      `raise the limit (ulimit -n ${needed}, as root also above the hard limit) and run this again`,
  );
}
