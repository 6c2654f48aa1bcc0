import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { SURROUNDINGS } from '../../policy/compose.fixture.js';
import { DEFAULT_COMPOSE_RULES } from '../../policy/compose-rules.js';
import { tempDataDir } from '../../spool/fixture.js';
import { Engine } from '../docker/engine.js';
import { EngineRefusedError } from '../docker/engine-error.js';
import { DryRun, type DryRunParts } from './dry-run.js';

const CONTENT = { services: { web: { image: 'a' } } };

let directory: string;
let env: { PATH: string; DOCKER_HOST: string };

beforeEach(() => {
  const root = tempDataDir();
  directory = join(root, 'compose');
  mkdirSync(directory);
  // Nobody is there: what is asked of the engine ends at once.
  env = { PATH: `${root}:/usr/bin:/bin`, DOCKER_HOST: `unix://${root}/none.sock` };
});

/** Puts a program of that name before all others in the PATH. */
function installDocker(script: string): void {
  const path = join(directory, '../docker');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

function dryRun(more: Partial<DryRunParts> = {}): DryRun {
  return new DryRun({
    engine: new Engine(env),
    cli: { directory, project: 'app', env },
    rules: DEFAULT_COMPOSE_RULES,
    lookAround: () => Promise.resolve(SURROUNDINGS),
    owner: () => ({ robot: 'r', agent: 'a' }),
    running: () => null,
    containers: () => Promise.resolve([]),
    ...more,
  });
}

it('says so where compose hangs on a document, and goes on to the next one', async () => {
  installDocker(
    `[ -e ${directory}/once ] && { echo "it is wrong" >&2; exit 1; }; touch ${directory}/once; sleep 1000000`,
  );
  const plans = dryRun({ configMsMax: 500 });
  const [first, second] = await Promise.all([plans.answer(CONTENT), plans.answer(CONTENT)]);
  expect(first.error).toMatchObject({
    code: 'invalid_compose_file',
    message: expect.stringContaining('docker compose has not understood it within 0.5 s'),
  });
  expect(second.error).toMatchObject({ message: expect.stringContaining('it is wrong') });
});

it('says what docker printed where that is no document', async () => {
  for (const printed of ['Upgrade now!', 'null', '[]', '']) {
    installDocker(`printf '%s' '${printed}'`);
    expect((await dryRun().answer(CONTENT)).error).toEqual({
      code: 'docker_unavailable',
      message: `docker compose config printed what is no JSON object: ${JSON.stringify(printed)}`,
    });
  }
});

it('says no more than that a document becomes too large', async () => {
  installDocker("head -c 17000000 /dev/zero | tr '\\0' x");
  expect((await dryRun().answer(CONTENT)).error).toEqual({
    code: 'invalid_compose_file',
    message: 'content: its normal form is larger than 16 MiB (docker compose)',
  });
});

it('names the directory whose disk is full', async () => {
  mkdirSync(join(directory, 'plan'));
  symlinkSync('/dev/full', join(directory, 'plan/candidate.json'));
  expect((await dryRun().answer(CONTENT)).error).toMatchObject({
    message: expect.stringContaining(`the agent's data directory (${directory}) is full: make room`),
  });
});

it('gives the words of an engine that refuses what it is asked', async () => {
  installDocker(`printf '%s' '{"services":{"web":{"image":"a"}}}'`);
  const lookAround = () => Promise.reject(new EngineRefusedError(500, 'the layers are broken'));
  expect((await dryRun({ lookAround }).answer(CONTENT)).error).toEqual({
    code: 'start_failed',
    message: 'the layers are broken',
  });
});
