import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { tempDataDir } from '../../spool/fixture.js';
import { ComposeCli } from './cli.js';
import { EngineUnavailableError } from './engine-error.js';

let directory: string;
let cli: ComposeCli;

beforeEach(() => {
  directory = tempDataDir();
  cli = new ComposeCli({ directory, project: 'app', env: { PATH: `${directory}:/usr/bin:/bin`, A: 'an a' } });
});

/** Puts a program of that name before all others in the PATH. */
function installDocker(script: string): void {
  const path = join(directory, 'docker');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

it('names what to install where there is no docker program', async () => {
  const without = new ComposeCli({ directory, project: 'app', env: { PATH: directory } });
  const error = await without.run(['version']).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(EngineUnavailableError);
  expect(String(error)).toMatch(/no docker program in the PATH: install docker-compose/);
});

it.each([
  ["docker: 'compose' is not a docker command.\nSee 'docker --help'", 1],
  ['unknown flag: --ansi\nSee docker --help', 125],
  ['docker: unknown command: docker compose', 1],
])('names what to install where docker says %j for want of its plugin', async (words, code) => {
  installDocker(`echo "${words}" >&2; exit ${code}`);
  const error = await cli.run(['version']).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(EngineUnavailableError);
  expect(String(error)).toMatch(/no compose plugin: install docker-compose/);
});

it('gives its words where it fails, and its output apart where it does not', async () => {
  installDocker('echo out; echo words >&2; [ "$A" = "an a" ] && [ -z "$HOME" ] || exit 1');
  expect(await cli.run(['version'])).toMatchObject({ kind: 'succeeded', stdout: 'out\n' });
  installDocker('echo "no such service" >&2; exit 14');
  expect(await cli.run(['version'])).toEqual({ kind: 'failed', words: 'no such service' });
});

it('ends a run that takes too long with all its processes, also those that do not heed', {
  timeout: 20_000,
}, async () => {
  // Docker ends at the first signal; its plugin does not, and has its outputs.
  const plugin = `trap "" TERM; while [ -e ${directory}/docker ]; do sleep 0.05; touch ${directory}/alive; done`;
  installDocker(`sh -c '${plugin}' & exec sleep 1000000`);
  await expect(cli.run(['version'], { msMax: 300 })).rejects.toThrow('has not ended within 0.3 s');
  rmSync(join(directory, 'alive'), { force: true });
  // A run of its own takes as long as a few rounds of the plugin's.
  installDocker('sleep 0.5');
  await cli.run(['version']);
  expect(existsSync(join(directory, 'alive'))).toBe(false);
});
