/** Interleaved windows and what is read from them. */
import type { Context } from './benchmark.js';

/**
 * A window of each contender in turn, so often; what the machine does meanwhile (others' load, heat) meets them alike. A first
 * window of each warms it up and is not kept; a smoke run goes without.
 */
export async function interleaved<K extends string, F>(
  { windows, smoke }: Pick<Context, 'windows' | 'smoke'>,
  contenders: Readonly<Record<K, () => Promise<F>>>,
): Promise<Record<K, F[]>> {
  const names = Object.keys(contenders) as K[];
  const kept = Object.fromEntries(names.map((name) => [name, [] as F[]])) as Record<K, F[]>;
  if (!smoke) for (const name of names) await contenders[name]();
  for (let window = 0; window < windows; window += 1) {
    for (const name of names) kept[name].push(await contenders[name]());
  }
  return kept;
}

/** The value below which this share of the values lies; NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** The median of an even number of values is the mean of the two in the middle. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const low = sorted[Math.ceil(middle) - 1] ?? Number.NaN;
  const high = sorted[Math.floor(middle)] ?? Number.NaN;
  return { min: sorted[0] ?? Number.NaN, median: (low + high) / 2, max: sorted.at(-1) ?? Number.NaN };
}

/** Of windows that stood beside each other. */
export function ratiosOf(ours: readonly number[], peer: readonly number[]): number[] {
  return ours.slice(0, peer.length).map((value, window) => value / (peer[window] ?? Number.NaN));
}
