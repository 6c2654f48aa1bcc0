// `npm run spool-bound [-- --mb 64]`: an outage that fills an agent's spool of that bound (DROVER_SPOOL_MAX_MB) many times over, on the
// simulated robot; then what is missing is held against the drops that the API shows (test/spool-bound.test.ts; `npm test` has it with 8 MB).
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({ options: { mb: { type: 'string', default: '64' } } });
if (!/^[1-9]\d*$/.test(values.mb)) {
  console.error(`--mb must be a whole number from 1 on, got "${values.mb}"`);
  process.exit(1);
}

/** Node with the terminal handed on. @returns its exit code; 1 where a signal ended it. */
function node(script, args, env = {}) {
  const options = { cwd: checkout, stdio: 'inherit', env: { ...process.env, ...env } };
  return spawnSync(process.execPath, [join(checkout, 'node_modules', script), ...args], options).status ?? 1;
}

process.exitCode =
  node('typescript/bin/tsc', ['-b']) ||
  node('vitest/vitest.mjs', ['run', 'test/spool-bound.test.ts'], { DROVER_TEST_SPOOL_BOUND_MB: values.mb });
