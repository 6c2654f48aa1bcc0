// `npm run deployments -- [--kills 20] [--restarts 5] [--seed N]`: deployments on a Docker Engine of their own, each hit at a moment
// drawn from the seed: the agent by kill -9, dockerd by a restart or a kill (test/compose/kills.docker.test.ts). Linux, root,
// docker.io, the compose plugin, busybox-static. Prints a line a round; exits with 1 where one did not end in the desired state,
// or left a container twice or too many.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const checkout = fileURLToPath(new URL('..', import.meta.url));

process.exitCode = await main();

async function main() {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '20' },
      restarts: { type: 'string', default: '5' },
      seed: { type: 'string', default: String(1 + Math.floor(Math.random() * 1e6)) },
    },
  });
  for (const [name, value] of Object.entries(values)) {
    if (/^\d+$/.test(value)) continue;
    console.error(`--${name} must be a whole number, not ${value}`);
    return 1;
  }
  const types = await node([join(checkout, 'node_modules/typescript/bin/tsc'), '-b'], process.env);
  if (types !== 0) return types;
  const test = ['run', 'test/compose/kills.docker.test.ts', '--disable-console-intercept'];
  return await node([join(checkout, 'node_modules/vitest/vitest.mjs'), ...test], {
    ...process.env,
    // Skipped for want of an engine would look like held.
    CI: 'true',
    DROVER_TEST_DEPLOYMENTS_KILLS: values.kills,
    DROVER_TEST_DEPLOYMENTS_RESTARTS: values.restarts,
    DROVER_TEST_DEPLOYMENTS_SEED: values.seed,
  });
}

/** Runs Node with the terminal handed on; Ctrl-C reaches it by itself. @returns its exit code; 1 where a signal ended it. */
async function node(args, env) {
  const child = spawn(process.execPath, args, { cwd: checkout, env, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
