import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkCompose, checkDocker, judgeAbsence } from './docker.js';

let dir: string;
let engine: Server | undefined;
const { signal } = new AbortController();

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'drover-docker-'));
});

afterEach(async () => {
  await new Promise((resolve) => (engine ? engine.close(resolve) : resolve(null)));
  engine = undefined;
  rmSync(dir, { recursive: true });
});

const host = () => `unix://${join(dir, 'docker.sock')}`;
const env = () => ({ PATH: dir, DOCKER_HOST: host() });

/** Puts a program of that name into the only directory of the PATH. */
function installDocker(script: string): void {
  const path = join(dir, 'docker');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

async function startEngine(): Promise<void> {
  engine = createServer((_, response) => void response.end('OK')).listen(join(dir, 'docker.sock'));
  await once(engine, 'listening');
}

it('warns without a docker program, with what to install and what for', async () => {
  for (const check of [checkDocker(env(), signal), checkCompose(env(), 'drover', signal)]) {
    const [finding] = await check;
    expect(finding).toMatchObject({ status: 'warn', message: expect.stringContaining('only needed for compose') });
    expect(finding?.remedy).toContain('docker-compose-v2');
  }
});

it('tells a missing program from a missing Engine', async () => {
  await startEngine();
  const [finding] = await checkDocker(env(), signal);
  expect(finding?.message).toMatch(/no docker program in the PATH \(the Engine itself answers\)/);
});

it('names the versions where all is there, in the environment that deployments get', async () => {
  installDocker('[ "$1" = compose ] && echo "2.29.1$DROVER_TOKEN" || echo "27.1.1 $DOCKER_HOST"');
  const all = { ...env(), DROVER_TOKEN: 'secret' };
  expect(await checkDocker(all, signal)).toEqual([
    { status: 'ok', message: `Docker Engine 27.1.1 ${host()} at ${host()}` },
  ]);
  expect(await checkCompose(all, 'patrol', signal)).toEqual([
    { status: 'ok', message: 'docker compose 2.29.1; deployments are the project patrol' },
  ]);
  expect((await checkCompose(all, null, signal))[0]?.message).toBe('docker compose 2.29.1');
});

it("looks where the docker program's context leads, as the agent does", async () => {
  installDocker(`[ "$1" = context ] && echo "${host()}" || echo "27.1.1"`);
  expect(await checkDocker({ PATH: dir }, signal)).toEqual([
    { status: 'ok', message: `Docker Engine 27.1.1 at ${host()}` },
  ]);
});

it('warns of an Engine that the docker program reaches and the agent does not', async () => {
  installDocker('echo 27.1.1');
  const [, away] = await checkDocker({ PATH: dir, DOCKER_HOST: 'ssh://robot' }, signal);
  expect(away).toMatchObject({
    status: 'warn',
    message: expect.stringContaining('does not go to an Engine at ssh://'),
  });
});

it('warns of an Engine that takes orders without TLS', async () => {
  installDocker('echo 27.1.1');
  const remote = { PATH: dir, DOCKER_HOST: 'tcp://192.0.2.7:2375' };
  const [found, open] = await checkDocker(remote, signal);
  expect(found).toMatchObject({ status: 'ok' });
  expect(open).toMatchObject({ status: 'warn', message: expect.stringContaining('is root there') });
  expect(open?.remedy).toContain('DOCKER_TLS_VERIFY=1');
  expect(await checkDocker({ ...remote, DOCKER_TLS_VERIFY: '1' }, signal)).toMatchObject([{ status: 'ok' }]);
});

it('names the group whose users may use the socket, and the missing program beside it', () => {
  const right = judgeAbsence({ kind: 'failed', words: 'permission denied' }, 'EACCES', host());
  expect(right).toMatchObject({ status: 'warn', message: expect.stringContaining('may not use the Docker Engine') });
  expect(right.remedy).toMatch(/usermod -aG docker/);
  expect(right.remedy).not.toContain('no docker program');
  const both = judgeAbsence({ kind: 'missing' }, 'EACCES', host());
  expect(both.remedy).toMatch(/usermod -aG docker.*\n.*no docker program/);
});

it('says that the Engine does not run where its socket is absent, or dead', async () => {
  installDocker('echo "Cannot connect to the Docker daemon" >&2; exit 1');
  const [absent] = await checkDocker(env(), signal);
  expect(absent).toMatchObject({ status: 'warn', message: expect.stringContaining('does not run: no socket') });
  const [remote] = await checkDocker({ ...env(), DOCKER_HOST: 'tcp://127.0.0.1:1' }, signal);
  expect(remote?.message).toContain("can't be reached at tcp://127.0.0.1:1: Cannot connect");
});

it('says that only the compose plugin is missing', async () => {
  installDocker(`echo "docker: 'compose' is not a docker command." >&2; exit 1`);
  const [finding] = await checkCompose(env(), 'drover', signal);
  expect(finding).toMatchObject({ status: 'warn', message: expect.stringContaining('no compose plugin') });
});
