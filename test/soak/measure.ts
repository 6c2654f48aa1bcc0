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

/**
 * The least of each window. Between two collections garbage makes RSS rise and fall by some MiB, and a descriptor may be
 * open for a moment: what lasts is in the least of all samples too.
 */
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
