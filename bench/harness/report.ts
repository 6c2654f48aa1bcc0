import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CannotRunError, type Result } from './benchmark.js';
import type { Machine } from './machine.js';
import { svgOf } from './plot.js';
import { type Judged, judged, table } from './table.js';

/** One benchmark's part of a run, as it stands in the result file. */
export interface Outcome {
  readonly benchmark: string;
  readonly smoke: boolean;
  readonly windows: number;
  readonly profiled: boolean;
  /** When it began, and the load that others made then. */
  readonly at: string;
  readonly loadAtStart: number;
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

interface ResultFile {
  readonly machine: Machine;
  readonly benchmarks: readonly Told[];
}

/** Makes the folder, and sees that it can be written to: before hours of measuring. @throws CannotRunError */
export function openFolder(out: string): void {
  try {
    mkdirSync(out, { recursive: true });
    accessSync(out, constants.W_OK);
  } catch (error) {
    throw new CannotRunError(`nothing can be written to ${out}: ${error instanceof Error ? error.message : error}`);
  }
}

/**
 * Writes `bench.json`, `bench.md` and the plots. Benchmarks may be run one by one: what the folder has of others, of the same commit
 * on the same machine and measured in the same way, stays beside these. What has no place beside them is kept under another name.
 * @param order the names of all benchmarks, as they are to follow each other
 * @returns the table
 */
export function report(out: string, machine: Machine, outcomes: readonly Outcome[], order: readonly string[]): string {
  const now = outcomes.map(
    ({ result, ...rest }): Told => ({
      ...rest,
      ...(result && { rows: result.rows.map((row) => judged(row, rest.smoke)), facts: result.facts ?? {} }),
    }),
  );
  const others = stayingIn(out, machine, now);
  const told = [...others, ...now].sort((a, b) => order.indexOf(a.benchmark) - order.indexOf(b.benchmark));
  const text = markdown(machine, told);
  writeFileSync(join(out, 'bench.json'), `${JSON.stringify({ machine, benchmarks: told }, null, 2)}\n`);
  writeFileSync(join(out, 'bench.md'), text);
  for (const { result } of outcomes) {
    for (const plot of result?.plots ?? []) writeFileSync(join(out, `${plot.name}.svg`), svgOf(plot));
  }
  return text;
}

function markdown(machine: Machine, told: readonly Told[]): string {
  const [first] = told;
  const words = first?.smoke
    ? 'Smoke form: seconds on little data. It shows that the benchmarks run, and nothing of how fast anything is.\n\n'
    : first?.profiled
      ? 'Of profiled processes, which are slower: no figures to go by.\n\n'
      : '';
  const parts = told.map(({ benchmark, windows, at, loadAtStart, failed }) => {
    const load = `${windows} window${windows === 1 ? '' : 's'}, ${at}, load ${loadAtStart.toFixed(1)} at its begin`;
    return `- ${benchmark}: ${load}${failed === undefined ? '' : `; failed: ${failed.split('\n', 1)[0]}`}`;
  });
  const facts = Object.entries(machine).map(([name, value]) => `${name} ${value}`);
  return `${words}${table(told.flatMap(({ rows = [] }) => rows))}\n\n${parts.join('\n')}\n\n${facts.join(', ')}\n`;
}

/** What the folder has of other benchmarks and may stand beside these; the rest is moved aside. */
function stayingIn(out: string, machine: Machine, now: readonly Told[]): readonly Told[] {
  const path = join(out, 'bench.json');
  if (!existsSync(path)) return [];
  const found = parsed(readFileSync(path, 'utf8'));
  const [run] = now;
  const isSame =
    found !== undefined &&
    SAME.every((fact) => found.machine[fact] === machine[fact]) &&
    !machine.commit.endsWith('-dirty') &&
    found.benchmarks.every((other) => FORM.every((part) => other[part] === run?.[part]));
  if (isSame) return found.benchmarks.filter(({ benchmark }) => now.every((run) => run.benchmark !== benchmark));
  const aside = `bench-until-${new Date().toISOString().replaceAll(':', '-')}`;
  for (const ending of ['json', 'md']) {
    if (existsSync(join(out, `bench.${ending}`))) {
      renameSync(join(out, `bench.${ending}`), join(out, `${aside}.${ending}`));
    }
  }
  console.error(`what ${out} had was measured otherwise (commit, machine, windows): it is kept as ${aside}`);
  return [];
}

function parsed(text: string): ResultFile | undefined {
  try {
    const file = JSON.parse(text) as Partial<ResultFile>;
    return file.machine && Array.isArray(file.benchmarks) ? (file as ResultFile) : undefined;
  } catch {
    return undefined;
  }
}

const SAME = ['commit', 'cpu', 'cores', 'memoryGiB', 'kernel', 'node', 'sqlite'] as const;
const FORM = ['smoke', 'windows', 'profiled'] as const;
