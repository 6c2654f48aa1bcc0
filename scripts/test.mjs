// `npm test`: the types, then every test, those on real ROS 2 included. Arguments go to vitest.
//
// ROS 2 is the sourced one, or is made from package registries at the first run (scripts/ros/setup.mjs: about two
// minutes, then cached). DROVER_TEST_ROS=off goes without. Without ROS its tests are skipped; under CI=true that is a
// failure. The last line is the tally.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rosEnvironment, SetupError } from './ros/setup.mjs';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const inCi = process.env.CI === 'true';

process.exitCode = await main(process.argv.slice(2));

async function main(args) {
  const types = await node([join(checkout, 'node_modules/typescript/bin/tsc'), '-b'], process.env);
  if (types !== 0) return types;

  const ros = await findRos();
  if (ros.missing !== undefined && inCi) {
    console.error(`The tests on real ROS 2 must run in CI, and can't: ${ros.missing}`);
    return 1;
  }

  const reports = mkdtempSync(join(tmpdir(), 'drover-test-'));
  try {
    const report = join(reports, 'report.json');
    const code = await node(
      [
        join(checkout, 'node_modules/vitest/vitest.mjs'),
        'run',
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${report}`,
        ...args,
      ],
      ros.env,
    );
    console.log(`\n${tally(report, code)}`);
    return code;
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
}

/** The environment to test in; `missing` says in words why there is no ROS in it. */
async function findRos() {
  if (process.env.DROVER_TEST_ROS === 'off') return without('DROVER_TEST_ROS=off');
  try {
    const { env, distro } = await rosEnvironment({});
    console.log(`Testing with ROS 2 ${distro}`);
    return { env: { ...env, DROVER_TEST_ROS: '1' } };
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(`No ROS 2 here, its tests will be skipped: ${error.message}`);
    return without(error.message.split('\n', 1)[0]);
  }
}

function without(missing) {
  const { DROVER_TEST_ROS: _, ...env } = process.env;
  return { env: { ...env, DROVER_TEST_ROS_MISSING: missing }, missing };
}

/** `N passed, N failed, N skipped`. What failed outside of any test (a file that did not load) counts as one. */
function tally(report, code) {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  try {
    const { testResults, ...counts } = JSON.parse(readFileSync(report, 'utf8'));
    const broken = testResults.filter(
      ({ status, assertionResults }) =>
        status === 'failed' && !assertionResults.some((result) => result.status === 'failed'),
    );
    passed = counts.numPassedTests;
    failed = counts.numFailedTests + broken.length;
    skipped = counts.numPendingTests + counts.numTodoTests;
  } catch {
    // vitest ended before it wrote the report
  }
  if (code !== 0 && failed === 0) failed = 1;
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** Runs Node with the terminal handed on. @returns its exit code; 1 where a signal ended it. */
async function node(args, env) {
  const child = spawn(process.execPath, args, { cwd: checkout, env, stdio: 'inherit' });
  // Ctrl-C reaches the child too, which ends by itself and takes us along.
  process.on('SIGINT', () => {});
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
