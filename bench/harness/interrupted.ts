/** What a run leaves behind when it is interrupted: nothing. Processes are found by /proc (Linux). */
import { readdirSync, readFileSync } from 'node:fs';

/** How long what a benchmark cleans up may take before the run ends without it. */
const CLEAN_UP_MS = 5_000;

/** Exit codes as shells give them: 128 and the signal's number. */
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/**
 * On SIGINT, SIGTERM and SIGHUP (its terminal was closed) kills every process that was started from this one, lets `cleanUp` do its part, and exits. What runs
 * meanwhile fails for want of its processes: where the signal is aborted, that is nobody's concern any more.
 */
export function endOnSignals(cleanUp: () => Promise<unknown>): AbortSignal {
  const interrupted = new AbortController();
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interrupted.abort();
      console.error(`${signal}: ending what was started`);
      killDescendants();
      const inTime = new Promise((resolve) => setTimeout(resolve, CLEAN_UP_MS));
      void Promise.race([cleanUp(), inTime]).finally(() => {
        // Whatever was just being started.
        killDescendants();
        process.exit(EXIT_CODES[signal]);
      });
    });
  }
  return interrupted.signal;
}

/** Kills them all; a process that one of them starts in this moment is looked for again. */
function killDescendants(): void {
  for (let left = descendantsOf(process.pid); left.length > 0; left = descendantsOf(process.pid)) {
    for (const pid of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has just ended by itself.
      }
    }
  }
}

/** Processes that were started by this one, or by one of those; without those that have ended and wait to be asked how. */
export function descendantsOf(ancestor: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = parentOf(name);
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found: number[] = [];
  for (
    let next = children.get(ancestor) ?? [];
    next.length > 0;
    next = next.flatMap((pid) => children.get(pid) ?? [])
  ) {
    found.push(...next);
  }
  return found;
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in brackets, may hold anything; state and parent follow it.
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? undefined : Number(parent);
  } catch {
    // Gone meanwhile.
    return undefined;
  }
}
