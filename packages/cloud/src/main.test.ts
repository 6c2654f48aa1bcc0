/** The program as an operator starts it: built, in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempDir } from './testing/cloud.js';

const BIN = fileURLToPath(new URL('../bin/drover-cloud.js', import.meta.url));

interface Line {
  msg: string;
  [field: string]: unknown;
}

describe('drover-cloud', () => {
  let dir: ReturnType<typeof tempDir>;
  const children: ChildProcess[] = [];
  beforeEach(() => {
    dir = tempDir();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    dir.remove();
  });

  function start(args: string[] = [], env: Record<string, string> = {}) {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('DROVER_'));
    const child = spawn(process.execPath, [BIN, ...args], {
      env: { ...Object.fromEntries(inherited), DROVER_DATA_DIR: dir.path, DROVER_PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data) => {
      stdout += data;
    });
    child.stderr.on('data', (data) => {
      stderr += data;
    });
    const listening = new Promise<Line>((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (text) => {
        if (text.includes('"msg":"listening"')) resolve(JSON.parse(text) as Line);
      });
      child.once('close', () => reject(new Error(`ended before it listened: ${stderr}`)));
    });
    // Not every test waits for it.
    listening.catch(() => {});
    const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, stdout, stderr }));
    return { child, listening, ended };
  }
  const robots = (url: unknown, key: string) => fetch(`${url}/robots`, { headers: { 'svc-api-key': key } });

  it('prints a generated key once, says where it listens, and exits 0 on SIGTERM, sent twice', async () => {
    const first = start();
    const { url } = await first.listening;
    first.child.kill('SIGTERM');
    first.child.kill('SIGTERM');
    const { code, stdout } = await first.ended;
    expect(code).toBe(0);
    const keys = stdout.match(/drk_[0-9A-Za-z]{43}/g) ?? [];
    expect([String(url).startsWith('http://127.0.0.1:'), keys.length]).toEqual([true, 1]);

    const second = start();
    expect((await robots((await second.listening).url, String(keys[0]))).status).toBe(200);
    second.child.kill('SIGINT');
    const again = await second.ended;
    expect([again.code, again.stdout.includes('drk_')]).toEqual([0, false]);
  });

  it.each(['whose reader is gone', 'whose disk is full'])('serves, and stops, with a log %s', async (why) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const env = {
      ...process.env,
      DROVER_DATA_DIR: dir.path,
      DROVER_PORT: String(port),
      DROVER_API_KEY: 'drk_'.padEnd(30, 'x'),
    };
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [BIN], {
      env,
      stdio: ['ignore', why === 'whose disk is full' ? full : 'pipe', 'inherit'],
    });
    closeSync(full);
    children.push(child);
    child.stdout?.once('data', () => child.stdout?.destroy());
    const url = `http://127.0.0.1:${port}`;
    // Each has its line.
    const ask = () => robots(url, env.DROVER_API_KEY).then(({ status }) => status, String);
    await expect.poll(ask).toBe(200);
    for (let n = 0; n < 20; n += 1) expect(await ask()).toBe(200);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('names a command that it does not have, and the one that was meant', async () => {
    const { code, stderr } = await start(['bakup', '/tmp/x.db']).ended;
    expect([code, stderr.trim()]).toEqual([1, 'drover-cloud: there is no command bakup; did you mean backup?']);
    expect((await start(['serve']).ended).stderr.trim()).toBe('drover-cloud: there is no command serve; see --help');
  });

  it('takes DROVER_API_KEY for a new store, and ignores it with a warning later', async () => {
    const first = start([], { DROVER_API_KEY: 'a-key-of-my-own-choice' });
    expect((await robots((await first.listening).url, 'a-key-of-my-own-choice')).status).toBe(200);
    first.child.kill('SIGTERM');
    expect((await first.ended).stdout).not.toContain('a-key-of-my-own-choice');
    const second = start([], { DROVER_API_KEY: 'another-key-of-my-choice' });
    const { url } = await second.listening;
    expect((await robots(url, 'another-key-of-my-choice')).status).toBe(401);
    expect((await robots(url, 'a-key-of-my-own-choice')).status).toBe(200);
    second.child.kill('SIGTERM');
    const { stdout } = await second.ended;
    expect(stdout).toContain('DROVER_API_KEY is ignored');
    expect(stdout).not.toContain('another-key-of-my-choice');
  });

  it('warns of a variable that it ignores, naming the setting that was meant', async () => {
    const cloud = start([], { DROVER_RETENTION_DAY: '3', DROVER_URL: 'http://localhost' });
    await cloud.listening;
    cloud.child.kill('SIGTERM');
    const { code, stdout } = await cloud.ended;
    expect([code, stdout.split('is no setting').length]).toEqual([0, 2]);
    expect(stdout).toContain('DROVER_RETENTION_DAY is no setting and is ignored; did you mean DROVER_RETENTION_DAYS?');
  });

  it('says where it listens at any log level', async () => {
    const cloud = start([], { DROVER_LOG_LEVEL: 'silent' });
    expect((await cloud.listening).url).toMatch(/^http:/);
  });

  it('keeps its robots over kill -9, and is not kept out by its own lock', async () => {
    const first = start([], { DROVER_API_KEY: 'a-key-of-my-own-choice' });
    const { url } = await first.listening;
    const headers = { 'svc-api-key': 'a-key-of-my-own-choice', 'content-type': 'application/json' };
    const made = await fetch(`${url}/robots`, { method: 'POST', headers, body: '{"id":"rover-1"}' });
    expect(made.status).toBe(201);
    first.child.kill('SIGKILL');
    await first.ended;
    const second = start();
    const answer = await robots((await second.listening).url, 'a-key-of-my-own-choice');
    expect(await answer.json()).toMatchObject([{ id: 'rover-1' }]);
  });

  it('answers a request that is under way when it is told to stop', async () => {
    const cloud = start([], { DROVER_API_KEY: 'a-key-of-my-own-choice' });
    const { url } = await cloud.listening;
    // A body whose end is late: the request is under way as long as we want.
    let finish = () => {};
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"id":'));
        finish = () => {
          controller.enqueue(new TextEncoder().encode('"rover-1"}'));
          controller.close();
        };
      },
    });
    const headers = { 'svc-api-key': 'a-key-of-my-own-choice', 'content-type': 'application/json' };
    const answer = fetch(`${url}/robots`, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
    // It has been taken once the server has read its head: another request's answer, later on, tells that.
    await robots(url, 'a-key-of-my-own-choice');
    const stopping = new Promise((resolve) => {
      cloud.child.stdout.on('data', (data) => String(data).includes('"stopping"') && resolve(undefined));
    });
    cloud.child.kill('SIGTERM');
    await stopping;
    finish();
    expect((await answer).status).toBe(201);
    expect((await cloud.ended).code).toBe(0);
  });

  it('refuses to serve from a data directory that another serves from', async () => {
    await start().listening;
    const { code, stderr } = await start().ended;
    expect(code).toBe(1);
    expect(stderr).toContain(dir.path);
    expect(stderr).toContain('DROVER_DATA_DIR');
  });

  it('says which port is taken and how to change it', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const port = String((other.address() as AddressInfo).port);
    const { code, stderr } = await start([], { DROVER_PORT: port }).ended;
    other.close();
    expect(code).toBe(1);
    expect(stderr).toContain(port);
    expect(stderr).toContain('DROVER_PORT');
  });

  it('makes tenants and lists and revokes keys beside a cloud that runs', async () => {
    const { url } = await start().listening;
    const made = await start(['tenants', 'create', 'acme']).ended;
    const key = made.stdout.trim();
    expect([made.code, key]).toEqual([0, expect.stringMatching(/^drk_[0-9A-Za-z]{43}$/)]);
    expect((await robots(url, key)).status).toBe(200);
    const again = await start(['tenants', 'create', 'acme']).ended;
    expect([again.code, again.stdout]).toEqual([1, '']);
    expect(again.stderr).toContain('acme');
    const listed = await start(['keys', 'list', '--json']).ended;
    const rows = listed.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
    expect(rows.map((row) => row.tenant)).toEqual(['default', 'acme']);
    expect(listed.stdout).not.toContain(key);
    expect((await start(['keys', 'revoke', String(rows[1]?.uuid)]).ended).code).toBe(0);
    expect((await robots(url, key)).status).toBe(401);
  });

  it('makes keys with scopes, and says which there are', async () => {
    await start(['tenants', 'create', 'default']).ended;
    const made = await start(['keys', 'create', 'reader', '--scopes', 'robots:read']).ended;
    expect(made.stdout.trim()).toMatch(/^drk_/);
    const wrong = await start(['keys', 'create', 'reader', '--scopes', 'everything']).ended;
    expect([wrong.code, wrong.stderr.includes('robots:read')]).toEqual([1, true]);
  });

  it('lists no keys of a store that is not there', async () => {
    const { code, stderr } = await start(['keys', 'list'], { DROVER_DATA_DIR: `${dir.path}/nothing` }).ended;
    expect([code, stderr.includes('DROVER_DATA_DIR')]).toEqual([1, true]);
  });
});
