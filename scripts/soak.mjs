// `npm run soak -- --minutes 20 [--distro kilted]`: the system under load on real ROS 2 for a while, its memory,
// descriptors, streams and commands watched (test/soak). The first 5 minutes warm it up. Exits with 1 where a bound is broken.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { rosEnvironment, SetupError } from './ros/setup.mjs';

const checkout = fileURLToPath(new URL('..', import.meta.url));
/** Two windows after the warm-up, or there is no slope. */
const MINUTES_MIN = 4;

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function main() {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '20' }, distro: { type: 'string' } } });
  const minutes = Number(values.minutes);
  if (!Number.isInteger(minutes) || minutes < MINUTES_MIN) {
    throw new SetupError(`--minutes must be a whole number of at least ${MINUTES_MIN}, got "${values.minutes}"`);
  }
  const types = await node([join(checkout, 'node_modules/typescript/bin/tsc'), '-b'], process.env);
  if (types !== 0) return types;
  const { env, distro } = await rosEnvironment({ distro: values.distro });
  console.log(`Soaking for ${minutes} minutes on ROS 2 ${distro}`);
  return await node([join(checkout, 'node_modules/vitest/vitest.mjs'), 'run', 'test/soak/soak.ros.test.ts'], {
    ...env,
    DROVER_TEST_ROS: '1',
    DROVER_SOAK_MINUTES: String(minutes),
  });
}

/** Runs Node with the terminal handed on; Ctrl-C reaches it by itself. @returns its exit code; 1 where a signal ended it. */
async function node(args, env) {
  const child = spawn(process.execPath, args, { cwd: checkout, env, stdio: 'inherit' });
  process.on('SIGINT', () => {});
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
