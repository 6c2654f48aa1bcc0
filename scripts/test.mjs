// `npm test`: the types, then every test with ROS 2 Jazzy, then those on real ROS 2 (*.ros.test.ts) again with Kilted.
// Arguments go to vitest. DROVER_TEST_DISTROS=kilted (or jazzy,kilted) chooses; the first runs everything.
//
// Each ROS 2 is made from package registries at the first run (scripts/ros/setup.mjs: about two minutes, then cached).
// Where one is sourced, that one serves alone. DROVER_TEST_ROS=off goes without. What can't be had is skipped and said;
// under CI=true that is a failure. What failed is said again at the end, where it is found; the last line is the tally.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rosEnvironment, SetupError, sourcedDistro } from './ros/setup.mjs';

const DISTROS_TESTED = ['jazzy', 'kilted'];
/** Enough for an assertion's two sides, or an error and where it came from. */
const FAILURE_LINES = 12;

const checkout = fileURLToPath(new URL('..', import.meta.url));
const inCi = process.env.CI === 'true';

process.exitCode = await main(process.argv.slice(2));

async function main(args) {
  // Ctrl-C reaches the children too, which end by themselves and take us along.
  let interrupted = false;
  process.on('SIGINT', () => {
    interrupted = true;
  });
  const types = await node([join(checkout, 'node_modules/typescript/bin/tsc'), '-b'], process.env);
  if (types !== 0) return types;

  const { runs, missing } = await planRuns();
  if (missing.length > 0 && inCi) {
    console.error(`The tests on real ROS 2 must run in CI, and can't: ${missing.join('; ')}`);
    return 1;
  }

  const reports = mkdtempSync(join(tmpdir(), 'drover-test-'));
  try {
    const total = { passed: 0, failed: 0, skipped: 0 };
    const failures = [];
    let firstFailure = 0;
    for (const [index, { title, env, rosOnly }] of runs.entries()) {
      if (interrupted) break;
      console.log(`\n${title}`);
      const report = join(reports, `${index}.json`);
      const code = await vitest(report, rosOnly ? [...args, ...(args.length > 0 ? ['--passWithNoTests'] : [])] : args, {
        ...env,
        ...(rosOnly ? { DROVER_TEST_ONLY: 'ros' } : {}),
      });
      firstFailure ||= code;
      const counts = count(report, code);
      for (const kind of Object.keys(total)) total[kind] += counts[kind];
      failures.push(...counts.failures.map((failure) => `${title}: ${failure}`));
      if (runs.length > 1) console.log(`\n${title}: ${tally(counts)}`);
    }
    for (const reason of missing) console.log(`\nNot tested: ${reason}`);
    for (const failure of failures) console.log(`\nFailed, ${failure}`);
    console.log(`\n${tally(total)}`);
    return interrupted ? 130 : firstFailure;
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
}

/**
 * What to run: everything in the first environment that can be had (without any, in one without ROS), the ROS tests
 * again in each other one. `missing` says in words what can't be had.
 */
async function planRuns() {
  if (process.env.DROVER_TEST_ROS === 'off') return without('DROVER_TEST_ROS=off');
  const asked = process.env.DROVER_TEST_DISTROS?.split(',').filter((name) => name !== '');
  const sourced = sourcedDistro();
  const distros = asked ?? (sourced === undefined ? DISTROS_TESTED : [sourced]);
  if (sourced !== undefined) console.log(`ROS 2 ${sourced} is sourced here: testing with no other`);
  // Side by side: each is one compiler for a minute.
  const made = await Promise.allSettled(distros.map((distro) => rosEnvironment({ distro })));
  const runs = [];
  const missing = [];
  for (const [index, result] of made.entries()) {
    if (result.status === 'fulfilled') {
      const { env, distro } = result.value;
      const rosOnly = runs.length > 0;
      const title = `Testing ${rosOnly ? 'what needs ROS again ' : ''}with ROS 2 ${distro}`;
      runs.push({ title, env: { ...env, DROVER_TEST_ROS: '1' }, rosOnly });
    } else {
      if (!(result.reason instanceof SetupError)) throw result.reason;
      console.error(`No ROS 2 ${distros[index]} here, its tests will be skipped: ${result.reason.message}`);
      missing.push(`ROS 2 ${distros[index]}: ${result.reason.message.split('\n', 1)[0]}`);
    }
  }
  return runs.length > 0 ? { runs, missing } : without(missing.join('; '));
}

function without(missing) {
  const { DROVER_TEST_ROS: _, ...env } = process.env;
  const run = { title: 'Testing without ROS 2', env: { ...env, DROVER_TEST_ROS_MISSING: missing }, rosOnly: false };
  return { runs: [run], missing: [missing] };
}

function vitest(report, args, env) {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  return node([join(checkout, 'node_modules/vitest/vitest.mjs'), 'run', ...reporters, ...args], env);
}

/** What a run's report says. What failed outside of any test (a file that did not load) counts as one. */
function count(report, code) {
  const counts = { passed: 0, failed: 0, skipped: 0, failures: [] };
  try {
    const { testResults, ...totals } = JSON.parse(readFileSync(report, 'utf8'));
    const broken = testResults.filter(
      ({ status, assertionResults }) =>
        status === 'failed' && !assertionResults.some((result) => result.status === 'failed'),
    );
    counts.passed = totals.numPassedTests;
    counts.failed = totals.numFailedTests + broken.length;
    counts.skipped = totals.numPendingTests + totals.numTodoTests;
    for (const { name, message, assertionResults } of testResults) {
      for (const { status, fullName, failureMessages } of assertionResults) {
        if (status === 'failed') counts.failures.push(failureText(name, fullName, failureMessages.join('\n')));
      }
      if (broken.some((file) => file.name === name))
        counts.failures.push(failureText(name, 'the file itself', message));
    }
  } catch {
    // vitest ended before it wrote the report
  }
  if (code !== 0 && counts.failed === 0) counts.failed = 1;
  return counts;
}

/** Where it failed and the first lines of why: the whole is further up. */
function failureText(file, test, message) {
  const why = message.split('\n', FAILURE_LINES).map((line) => `  ${line}`);
  return `${relative(checkout, file)}: ${test}\n${why.join('\n')}`;
}

function tally({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** Runs Node with the terminal handed on. @returns its exit code; 1 where a signal ended it. */
async function node(args, env) {
  const child = spawn(process.execPath, args, { cwd: checkout, env, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
