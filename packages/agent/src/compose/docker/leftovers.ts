import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_MS = 20;
/** What can't be killed for that long never will be. */
const LOOKS_MAX = 500;

/**
 * Kills every process that has `argument` among its arguments, and waits until all are gone. An agent that is killed can not end what
 * it has started, nor note its process id in time: the arguments are there from the first moment, and plugins inherit them.
 * Where there is no /proc nothing is found.
 * @returns how many there were.
 */
export async function endLeftovers(argument: string): Promise<number> {
  const seen = new Set<number>();
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const found = processesWith(argument);
    if (found.length === 0) break;
    for (const pid of found) {
      seen.add(pid);
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Gone by itself meanwhile.
      }
    }
    await sleep(LOOK_MS);
  }
  return seen.size;
}

function processesWith(argument: string): number[] {
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  return names.filter((name) => /^\d+$/.test(name) && argumentsOf(name).includes(argument)).map(Number);
}

/** Empty where the process is gone, or has ended and nobody has waited for it yet. */
function argumentsOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
