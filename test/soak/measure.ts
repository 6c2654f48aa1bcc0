import { readdirSync, readFileSync } from 'node:fs';

/** What a process takes at one moment. */
export interface Footprint {
  readonly rssMiB: number;
  readonly descriptors: number;
}

export function footprint(pid: number): Footprint {
  const [, kB = 'NaN'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return { rssMiB: Number(kB) / 1024, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

/** The process that a supervisor has started: its newest child that is Node. */
export function supervised(supervisorPid: number): number {
  const children = readFileSync(`/proc/${supervisorPid}/task/${supervisorPid}/children`, 'utf8').trim().split(' ');
  const nodes = children.filter((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'node');
  return Number(nodes.at(-1));
}

/**
 * For a Node program's environment: it then collects all its garbage at SIGUSR2. Left alone, V8 lets some MiB of it pile
 * up over ten minutes and more, in which a leak of one is not to be seen.
 */
export const COLLECTS_AT_SIGUSR2 = {
  NODE_OPTIONS: `--expose-gc --import=data:text/javascript,${encodeURIComponent("process.on('SIGUSR2', () => gc())")}`,
};
/** So long after the signal it has. */
export const COLLECTION_MS = 500;

/** The least of each figure: what lasts is in every sample, a descriptor that is open for a moment is not. */
export function leastOf(samples: readonly Footprint[]): Footprint {
  return {
    rssMiB: Math.min(...samples.map(({ rssMiB }) => rssMiB)),
    descriptors: Math.min(...samples.map(({ descriptors }) => descriptors)),
  };
}

/** Slope of the least-squares line through `values`, taken at steps of one. */
export function slopeOf(values: readonly number[]): number {
  const mean = (values.length - 1) / 2;
  let above = 0;
  let below = 0;
  for (const [index, value] of values.entries()) {
    above += (index - mean) * value;
    below += (index - mean) ** 2;
  }
  return above / below;
}
