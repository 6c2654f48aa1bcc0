import { uptime } from 'node:os';

/** A difference below this between the two clocks is the coarse one's resolution (10 ms) and reading them apart. */
const SUSPEND_MIN_MS = 100;

/**
 * Milliseconds that only grow, whatever happens to the wall clock, and that count the time a robot is suspended:
 * process.hrtime stands still then, and a command that came before would seem fresh after. os.uptime counts it
 * (CLOCK_BOOTTIME) but in steps of 10 ms, so it only corrects the fine one.
 */
export function createMonotonicClock(
  fineMs: () => number = () => performance.now(),
  bootMs: () => number = () => uptime() * 1000,
): () => number {
  const fineStart = fineMs();
  const bootStart = bootMs();
  let suspendedMs = 0;
  return () => {
    const fine = fineMs() - fineStart;
    const missing = bootMs() - bootStart - fine - suspendedMs;
    if (missing > SUSPEND_MIN_MS) suspendedMs += missing;
    return fine + suspendedMs;
  };
}
