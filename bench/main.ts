import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { BENCHMARKS } from './catalogue.js';
import { type Benchmark, CannotRunError, type Context, type Result } from './harness/benchmark.js';
import { endOnSignals } from './harness/interrupted.js';
import { isMemory, machine } from './harness/machine.js';
import { type Outcome, openFolder, report } from './harness/report.js';

const checkout = fileURLToPath(new URL('../..', import.meta.url));

const HELP = `npm run bench -- [NAME…] [options]

Measures Drover beside its physical limits and its peers in one run, and prints ratios (docs/performance.md). Without names: all.

  --smoke        seconds on little data: that they run is all it shows
  --windows N    windows of each contender (5; smoke: 1)
  --out DIR      where bench.json, bench.md and the plots go (bench/out), beside what it has of other benchmarks,
                 measured here with the same code
  --tmp DIR      where stores and spools go, on the disk that is to be measured (the system's folder for temporary files)
  --profile DIR  CPU profiles of all processes, for bench/profile.mjs; slower, so not for figures
  --list         the benchmarks
  --help         this`;

/** A command line that can't be followed. */
class UsageError extends Error {}

/** Ends the benchmark that runs, once. */
let endRunning: () => Promise<unknown> = async () => {};
const interrupted = endOnSignals(() => endRunning());

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError || error instanceof CannotRunError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

async function main(args: string[]): Promise<number> {
  const { values, positionals } = parsed(args);
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (values.list) {
    for (const { name, summary } of BENCHMARKS) console.log(`${name.padEnd(12)} ${summary}`);
    return 0;
  }
  const chosen = named(positionals);
  const smoke = values.smoke ?? false;
  const windows = values.windows === undefined ? (smoke ? 1 : 5) : wholeNumber(values.windows);
  const facts = machine(checkout);
  if (!smoke && facts.loadAtStart > facts.cores / 4) {
    console.error(`the machine is busy (load ${facts.loadAtStart.toFixed(1)}): what is measured now is worth little`);
  }
  const out = resolve(values.out ?? join(checkout, 'bench/out'));
  const tmp = resolve(values.tmp ?? tmpdir());
  openFolder(out);
  openFolder(tmp);
  if (isMemory(tmp))
    console.error(`${tmp} is in memory: what is durable costs nothing there; --tmp takes a folder on a disk`);
  if (values.profile !== undefined) profileAll(resolve(values.profile));
  const outcomes: Outcome[] = [];
  for (const benchmark of chosen) {
    outcomes.push(await outcomeOf(benchmark, { smoke, windows, tmp, profiled: values.profile !== undefined }));
    // The process is about to exit.
    if (interrupted.aborted) await new Promise(() => {});
  }
  const order = BENCHMARKS.map(({ name }) => name);
  console.log(report(out, facts, outcomes, order));
  console.log(`written to ${out}`);
  const failed = outcomes.filter((outcome) => outcome.failed !== undefined);
  for (const { benchmark, failed: why } of failed) console.error(`${benchmark} failed: ${why}`);
  return failed.length > 0 ? 1 : 0;
}

/** The processes that are started from now on. */
function profileAll(dir: string): void {
  mkdirSync(dir, { recursive: true });
  process.env.BENCH_PROFILE_DIR = dir;
  const hook = new URL('../harness/profile-hook.mjs', import.meta.url);
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${hook.href}`.trim();
}

function parsed(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        smoke: { type: 'boolean' },
        windows: { type: 'string' },
        out: { type: 'string' },
        tmp: { type: 'string' },
        profile: { type: 'string' },
        list: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
  }
}

/** @throws UsageError where there is none of a name */
function named(names: readonly string[]): readonly Benchmark[] {
  const known = BENCHMARKS.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new UsageError(`no benchmark is named ${unknown.join(' or ')}: there are ${known.join(', ')}`);
  }
  return names.length === 0 ? BENCHMARKS : BENCHMARKS.filter(({ name }) => names.includes(name));
}

/** @throws UsageError */
function wholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1)
    throw new UsageError(`--windows takes a whole number from 1, not ${text}`);
  return number;
}

async function outcomeOf(
  benchmark: Benchmark,
  options: { smoke: boolean; windows: number; tmp: string; profiled: boolean },
): Promise<Outcome> {
  const { smoke, windows, tmp, profiled } = options;
  const startMs = performance.now();
  const began = { at: new Date().toISOString(), loadAtStart: loadavg()[0] ?? Number.NaN };
  const dir = mkdtempSync(join(tmp, `drover-bench-${benchmark.name}-`));
  const ends: (() => unknown)[] = [() => rmSync(dir, { recursive: true, force: true })];
  const context: Context = {
    ...{ smoke, windows, dir },
    onEnd: (cleanUp) => ends.push(cleanUp),
    say: (line) => console.error(`${benchmark.name}: ${line}`),
  };
  let ending: Promise<string | undefined> | undefined;
  const end = () => {
    ending ??= endAll(ends.reverse());
    return ending;
  };
  endRunning = end;
  let result: Result | undefined;
  let failed: string | undefined;
  try {
    result = await benchmark.run(context);
  } catch (error) {
    failed = wordsOf(error);
  }
  const failedAtEnd = await end();
  failed ??= failedAtEnd;
  const seconds = Math.round((performance.now() - startMs) / 100) / 10;
  context.say(`took ${seconds} s`);
  const run = { benchmark: benchmark.name, smoke, windows, profiled, ...began, seconds };
  return { ...run, ...(failed && { failed }), ...(result && { result }) };
}

/** All of them, whatever one throws; with what the first threw. */
async function endAll(ends: readonly (() => unknown)[]): Promise<string | undefined> {
  let failed: string | undefined;
  for (const end of ends) {
    try {
      await end();
    } catch (error) {
      failed ??= `at its end: ${error instanceof Error ? error.message : error}`;
    }
  }
  return failed;
}

function wordsOf(error: unknown): string {
  if (error instanceof CannotRunError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
