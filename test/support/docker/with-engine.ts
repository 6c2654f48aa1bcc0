import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { OwnEngine } from './own-engine.js';

/**
 * `node test/dist/support/docker/with-engine.js COMMAND [ARG…]`: runs the command with a Docker Engine of our own at
 * DOCKER_HOST, then ends the engine and removes its data, also where the command failed or was interrupted. Takes root.
 * Exits as the command did.
 */
const [command, ...args] = process.argv.slice(2);
if (command === undefined) throw new Error('which command? with-engine.js COMMAND [ARG…]');

const engine = await OwnEngine.start('host');
try {
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, DOCKER_HOST: engine.host } });
  // A Ctrl-C reaches the command too; we wait for its end to clean up after it.
  process.on('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  const [code] = await once(child, 'exit');
  process.exitCode = code ?? 1;
} finally {
  await engine.dispose();
}
