import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_MS = 20;
/** What can't be killed for that long never will be. */
const LOOKS_MAX = 500;

/**
 * Kills every process of ours that has those arguments one after the other, and waits until all are gone. An agent that is killed can not end
 * what it has started, nor note its process id in time: the arguments are there from the first moment, and plugins inherit them. Ours are
 * of our user and of our process ids' namespace: what runs in a container may have any arguments.
 * Where there is no /proc nothing is found.
 * @returns how many there were.
 */
export async function endLeftovers(args: readonly string[]): Promise<number> {
  const seen = new Set<number>();
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const found = processesWith(args);
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

function processesWith(args: readonly string[]): number[] {
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  const own = kinOf('self');
  if (own === null) return [];
  return names
    .filter((name) => /^\d+$/.test(name) && hasInRow(argumentsOf(name), args) && kinOf(name) === own)
    .map(Number);
}

/** Whether one stands right after the other. */
function hasInRow(all: readonly string[], some: readonly string[]): boolean {
  return all.some((_, at) => some.every((argument, offset) => all[at + offset] === argument));
}

/** Empty where the process is gone, or has ended and nobody has waited for it yet. */
function argumentsOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** What processes of one user and one namespace of process ids have in common; null where it can't be seen: it is gone, or another's. */
function kinOf(pid: string): string | null {
  try {
    const user = /^Uid:.*$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return user === null ? null : `${user[0]} ${readlinkSync(`/proc/${pid}/ns/pid`)}`;
  } catch {
    return null;
  }
}
