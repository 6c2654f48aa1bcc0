import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Result } from './benchmark.js';
import type { Machine } from './machine.js';
import { svgOf } from './plot.js';
import { type Judged, judged, table } from './table.js';

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

/** As it stands in the result file: with its rows judged. */
interface Told extends Omit<Outcome, 'result'> {
  readonly rows?: readonly Judged[];
  readonly facts?: Readonly<Record<string, unknown>>;
}

/**
 * Writes `bench.json`, `bench.md` and the plots. Benchmarks may be run one by one: what the folder has of others, of the same commit
 * on the same machine, stays beside these.
 * @param order the names of all benchmarks, as they are to follow each other
 * @returns the table
 */
export function report(out: string, machine: Machine, outcomes: readonly Outcome[], order: readonly string[]): string {
  mkdirSync(out, { recursive: true });
  const now = outcomes.map(
    ({ result, ...rest }): Told => ({
      ...rest,
      ...(result && { rows: result.rows.map((row) => judged(row, rest.smoke)), facts: result.facts ?? {} }),
    }),
  );
  const others = foundIn(join(out, 'bench.json'), machine).filter(({ benchmark, smoke, windows }) =>
    now.every((run) => run.benchmark !== benchmark && run.smoke === smoke && run.windows === windows),
  );
  const told = [...others, ...now].sort((a, b) => order.indexOf(a.benchmark) - order.indexOf(b.benchmark));
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

/** What an earlier run on this machine found, with the same code; nothing where the file is another's, or none of ours. */
function foundIn(file: string, machine: Machine): readonly Told[] {
  try {
    const found = JSON.parse(readFileSync(file, 'utf8')) as { machine: Machine; benchmarks: readonly Told[] };
    const isSame = SAME.every((fact) => found.machine[fact] === machine[fact]);
    return isSame && !machine.commit.endsWith('-dirty') ? found.benchmarks : [];
  } catch {
    return [];
  }
}

const SAME = ['commit', 'cpu', 'cores', 'memoryGiB', 'kernel', 'node', 'sqlite'] as const;
