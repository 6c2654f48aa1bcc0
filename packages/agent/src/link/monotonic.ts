import { uptime } from 'node:os';

/** A difference below this between the two clocks is the coarse one's resolution (10 ms) and reading them apart. */
const SUSPEND_MIN_MS = 100;
/** A wall clock that moved by more beside the fine one may tell of a suspension; it counts that, too. */
const WALL_MOVED_MS = SUSPEND_MIN_MS / 2;
/** The clock of the boot is asked this often, whatever the wall clock says. */
const ASKED_MS = 1_000;

/**
 * Milliseconds that only grow, whatever happens to the wall clock, and that count the time a robot is suspended:
 * process.hrtime stands still then, and a command that came before would seem fresh after. os.uptime counts it
 * (CLOCK_BOOTTIME) but in steps of 10 ms, so it only corrects the fine one. It costs a system call or two, twenty times
 * as much as the two others, so it is asked when those have come apart, and each second.
 */
export function createMonotonicClock(
  fineMs: () => number = () => performance.now(),
  bootMs: () => number = () => uptime() * 1000,
  wallMs: () => number = Date.now,
): () => number {
  const fineStart = fineMs();
  const bootStart = bootMs();
  let suspendedMs = 0;
  let askedMs = Number.NEGATIVE_INFINITY;
  let wallAheadMs = 0;
  return () => {
    const fine = fineMs() - fineStart;
    const aheadMs = wallMs() - fine;
    if (fine - askedMs < ASKED_MS && Math.abs(aheadMs - wallAheadMs) < WALL_MOVED_MS) return fine + suspendedMs;
    askedMs = fine;
    wallAheadMs = aheadMs;
    const missing = bootMs() - bootStart - fine - suspendedMs;
    if (missing > SUSPEND_MIN_MS) suspendedMs += missing;
    return fine + suspendedMs;
  };
}
