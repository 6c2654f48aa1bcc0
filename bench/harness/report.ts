import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Result } from './benchmark.js';
import type { Machine } from './machine.js';
import { svgOf } from './plot.js';
import { judged, table } from './table.js';

/** One benchmark's part of a run, as it stands in the result file. */
export interface Outcome {
  readonly benchmark: string;
  readonly smoke: boolean;
  readonly windows: number;
  readonly seconds: number;
  /** Instead of a result. */
  readonly failed?: string;
  readonly result?: Result;
}

/** Writes `bench.json`, `bench.md` and the plots. Returns the table. */
export function report(out: string, machine: Machine, outcomes: readonly Outcome[]): string {
  mkdirSync(out, { recursive: true });
  const told = outcomes.map(({ result, ...rest }) => ({
    ...rest,
    ...(result && { rows: result.rows.map((row) => judged(row, rest.smoke)), facts: result.facts ?? {} }),
  }));
  writeFileSync(join(out, 'bench.json'), `${JSON.stringify({ machine, benchmarks: told }, null, 2)}\n`);
  for (const { result } of outcomes) {
    for (const plot of result?.plots ?? []) writeFileSync(join(out, `${plot.name}.svg`), svgOf(plot));
  }
  const words = outcomes.some(({ smoke }) => smoke)
    ? 'Smoke form: seconds on little data. It shows that the benchmarks run, and nothing of how fast anything is.\n\n'
    : '';
  const facts = Object.entries(machine).map(([name, value]) => `${name} ${value}`);
  const text = `${words}${table(told.flatMap(({ rows = [] }) => rows))}\n\n${facts.join(', ')}\n`;
  writeFileSync(join(out, 'bench.md'), text);
  return text;
}
