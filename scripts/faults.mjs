// `npm run faults -- --seeds 1..200 [--lanes 2] [--out DIR]`: rounds of faults (test/faults), one a seed: a real cloud and three real
// agents on simulated robots, killed, frozen and cut off at moments drawn from the seed. Prints a line a round and the sums.
// With the same --out, rounds that held are not run again: a run that was interrupted goes on, and a broken seed is run anew.
// What is kept of a round that breaks a promise is in DIR/seed-N. Exits with 1 where one did.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const checkout = fileURLToPath(new URL('..', import.meta.url));

process.exitCode = await main();

async function main() {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1..200' },
      lanes: { type: 'string', default: '1' },
      out: { type: 'string' },
    },
  });
  const [, first, last] = /^(\d+)(?:\.\.(\d+))?$/.exec(values.seeds) ?? [];
  const lanes = Number(values.lanes);
  if (first === undefined || !Number.isInteger(lanes) || lanes < 1) {
    console.error(
      `--seeds must be a number or a range such as 1..200, --lanes a number; got ${values.seeds}, ${values.lanes}`,
    );
    return 1;
  }
  const seeds = Array.from({ length: Number(last ?? first) - Number(first) + 1 }, (_, at) => Number(first) + at);
  const out = values.out === undefined ? mkdtempSync(join(tmpdir(), 'drover-faults-out-')) : resolve(values.out);
  mkdirSync(out, { recursive: true });
  const held = new Set(
    [...tallies(out).values()].filter((tally) => tally.violations.length === 0).map(({ seed }) => seed),
  );
  const left = seeds.filter((seed) => !held.has(seed));
  console.log(`${left.length} of ${seeds.length} rounds to run, ${lanes} side by side; kept in ${out}`);

  const types = await node([join(checkout, 'node_modules/typescript/bin/tsc'), '-b'], process.env);
  if (types !== 0) return types;
  const codes = await Promise.all(
    Array.from({ length: lanes }, (_, lane) => left.filter((_seed, at) => at % lanes === lane))
      .filter((part) => part.length > 0)
      .map((part) =>
        node(
          [join(checkout, 'node_modules/vitest/vitest.mjs'), 'run', 'test/faults/faults.test.ts', '--reporter=dot'],
          {
            ...process.env,
            DROVER_TEST_FAULTS_SEEDS: part.join(','),
            DROVER_TEST_FAULTS_OUT: out,
          },
        ),
      ),
  );
  printSums(
    [...tallies(out).values()].filter(({ seed }) => seeds.includes(seed)),
    seeds.length,
  );
  return Math.max(0, ...codes);
}

/** The newest tally of each seed. */
function tallies(out) {
  const file = join(out, 'tally.jsonl');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  return new Map(lines.map((line) => JSON.parse(line)).map((tally) => [tally.seed, tally]));
}

function printSums(rounds, wanted) {
  if (rounds.length === 0) {
    console.log('no round could be run');
    return;
  }
  const sum = (key) => rounds.reduce((total, round) => total + round[key], 0);
  const counts = (key) => {
    const all = {};
    for (const round of rounds) for (const [what, n] of Object.entries(round[key])) all[what] = (all[what] ?? 0) + n;
    return Object.entries(all)
      .map(([what, n]) => `${n} ${what}`)
      .join(', ');
  };
  const seconds = rounds.map((round) => round.seconds).sort((a, b) => a - b);
  const broken = rounds.filter((round) => round.violations.length > 0);
  const of = (part) =>
    broken.flatMap((round) => round.violations).filter(({ invariant }) => invariant.includes(part)).length;
  console.log(`
${rounds.length} of ${wanted} rounds, ${seconds[Math.floor(seconds.length / 2)]} s each (median), ${seconds.at(-1)} s the longest
faults: ${counts('faults')}; ${sum('lives')} lives of ${3 * rounds.length} robots
values: ${sum('published')} due, ${sum('stored')} stored, ${sum('duplicates')} twice, ${sum('lostAtKills')} not yet committed at a kill (at most ${Math.max(...rounds.map((round) => round.lostAtKillMax))} of a stream at one), ${of('no value is lost')} streams with other losses
commands: ${sum('commands')}, ${sum('effects')} effects; ${of('acts twice')} twice, ${of('final outcome')} without a final outcome
outcomes: ${counts('outcomes')}
${broken.length} rounds broke a promise${broken.length > 0 ? `: ${broken.map(({ seed }) => seed).join(', ')}` : ''}`);
}

/** Runs Node with the terminal handed on; Ctrl-C reaches it by itself. @returns its exit code; 1 where a signal ended it. */
async function node(args, env) {
  const child = spawn(process.execPath, args, { cwd: checkout, env, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
