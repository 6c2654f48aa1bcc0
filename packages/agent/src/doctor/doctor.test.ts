import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockDataDir } from '../disk/instance-lock.js';
import { runDoctor } from './doctor.js';
import { CloudFixture, type CloudFixtureOptions } from './test-cloud.fixture.js';

const TOKEN = 'drt_not_to_be_printed';

let dir: string;
let dataDir: string;
const clouds: CloudFixture[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'drover-doctor-'));
  dataDir = join(dir, 'data');
  mkdirSync(dataDir);
});

afterEach(async () => {
  for (const cloud of clouds.splice(0)) await cloud.stop();
  rmSync(dir, { recursive: true });
});

async function startCloud(options: CloudFixtureOptions = {}): Promise<CloudFixture> {
  const cloud = await CloudFixture.start(options);
  clouds.push(cloud);
  return cloud;
}

interface Examination {
  readonly exitCode: number;
  readonly lines: readonly string[];
  /** The line of a check. */
  line(name: string): string;
  /** The lines of its remedies. */
  remedy(name: string): string;
}

/** Runs doctor on a simulated robot without docker, unless `env` says otherwise. */
async function examine(env: NodeJS.ProcessEnv, colours = false): Promise<Examination> {
  const lines: string[] = [];
  const standard = {
    DROVER_CONFIG: emptyConfig(),
    DROVER_TOKEN: TOKEN,
    DROVER_DATA_DIR: dataDir,
    DROVER_ROS: 'simulated',
    PATH: join(dir, 'nothing-here'),
    DOCKER_HOST: `unix://${join(dir, 'docker.sock')}`,
  };
  const monotonicNow = () => performance.now();
  const options = { out: (line: string) => lines.push(line), now: Date.now, monotonicNow, colours };
  const exitCode = await runDoctor({ ...options, env: { ...standard, ...env } });
  const at = (name: string) => lines.findIndex((line) => line.slice(6).startsWith(`${name} `));
  return {
    exitCode,
    lines,
    line: (name) => lines[at(name)] ?? '',
    remedy(name) {
      const rest = lines.slice(at(name) + 1);
      return rest
        .slice(
          0,
          rest.findIndex((line) => !line.startsWith(' ')),
        )
        .join('\n');
    },
  };
}

function emptyConfig(): string {
  const path = join(dir, 'agent.yaml');
  writeFileSync(path, '', { mode: 0o600 });
  return path;
}

describe('the report', () => {
  it('has a line for each check, remedies indented below and the counts last', async () => {
    const cloud = await startCloud();
    const { lines, exitCode } = await examine({ DROVER_URL: cloud.url });
    const names = lines.filter((line) => !line.startsWith(' ')).map((line) => line.slice(6, 18).trim());
    expect(names.slice(0, -1)).toEqual([
      'config',
      'policy',
      'policy',
      'cloud',
      'token',
      'clock',
      'ros',
      'disk',
      'agent',
      'docker',
      'compose',
    ]);
    expect(lines.at(-1)).toBe('9 ok, 2 warnings, 0 failed');
    expect(lines.every((line) => /^(ok {4}|warn {2}|fail {2}| {18}-> |\d)/.test(line))).toBe(true);
    expect(exitCode).toBe(0);
  });

  it('is plain, and coloured only where asked and NO_COLOR is not set', async () => {
    const { url } = await startCloud();
    expect((await examine({ DROVER_URL: url })).lines.join('')).not.toContain('\u001b');
    expect((await examine({ DROVER_URL: url, NO_COLOR: '1' }, true)).lines.join('')).not.toContain('\u001b');
    const [first = ''] = (await examine({ DROVER_URL: url }, true)).lines;
    expect(first.startsWith('\u001b[32mok    \u001b[0mconfig')).toBe(true);
  });

  it('never shows the token, whatever happens to it', async () => {
    const refusing = await startCloud({ refuseWith: 401 });
    const file = join(dir, 'agent.yaml.broken');
    writeFileSync(file, `token: "${TOKEN}\nurl: [`);
    const { url } = await startCloud();
    for (const env of [
      { DROVER_URL: url },
      { DROVER_URL: refusing.url },
      { DROVER_URL: 'http://127.0.0.1:1' },
      { DROVER_URL: url, DROVER_TOKEN: `${TOKEN} ${TOKEN}` },
      { DROVER_URL: url, DROVER_CONFIG: file, DROVER_TOKEN: '' },
    ]) {
      expect((await examine(env)).lines.join('\n')).not.toContain(TOKEN);
    }
  });
});

describe('the configuration', () => {
  it('is shown with where it comes from', async () => {
    const cloud = await startCloud();
    const file = join(dir, 'mine.yaml');
    writeFileSync(file, 'battery_topic: /power', { mode: 0o600 });
    const { line } = await examine({ DROVER_URL: cloud.url, DROVER_CONFIG: file });
    expect(line('config')).toContain(`cloud ${cloud.url}, token set, data in ${dataDir}, ROS simulated`);
    expect(line('config')).toContain(`DROVER_URL, DROVER_TOKEN, DROVER_DATA_DIR, DROVER_ROS; ${file}; defaults`);
  });

  it('fails with each of its problems, and what is right of it is checked all the same', async () => {
    const cloud = await startCloud();
    const { lines, line, exitCode } = await examine({ DROVER_URL: cloud.url, DROVER_TOKEN: '', DROVER_ROS: 'auto' });
    const problems = lines.filter((one) => one.startsWith('fail  config '));
    expect(problems).toHaveLength(2);
    expect(problems.join()).toMatch(/DROVER_TOKEN: not set.*DROVER_ROS: no ROS 2 is sourced/);
    expect(line('cloud')).toMatch(/^ok .*reachable/);
    expect(line('token')).toMatch(/^warn .*not checked/);
    expect(line('ros')).toMatch(/^fail .*no ROS 2 is sourced/);
    expect(line('disk')).toMatch(/^ok /);
    expect(cloud.upgrades).toEqual([]);
    expect(exitCode).toBe(1);
  });

  it('shows the policy, and fails where it is wrong while all else is checked', async () => {
    const cloud = await startCloud();
    const file = join(dir, 'mine.yaml');
    const env = { DROVER_URL: cloud.url, DROVER_CONFIG: file };
    const policy =
      'topics: { allow: [/cmd_vel], deny: [/a, /b] }, compose: { images: { allow: [x/**] }, host_namespaces: [] }';
    writeFileSync(file, `policy: { ${policy} }`, { mode: 0o600 });
    const right = await examine(env);
    expect(right.line('policy')).toContain('topics 1 allowed, 2 denied; services all allowed; actions all allowed');
    const deployments = 'what deployments may do: host namespaces none; images 1 allowed; else the defaults';
    expect(right.lines.join('\n')).toContain(deployments);
    writeFileSync(file, 'policy: { topics: { allow: [cmd_vel] } }');
    const wrong = await examine(env);
    expect(wrong.line('config')).toMatch(/^fail .*policy\.topics\.allow\[0\] in .*must be a fully resolved name/);
    expect(wrong.line('policy')).toMatch(/^warn .*not checked/);
    expect(wrong.line('token')).toMatch(/^ok /);
    expect(wrong.line('disk')).toMatch(/^ok /);
  });

  it('that can not be read at all leaves what needs no setting', async () => {
    const cloud = await startCloud();
    const { line, exitCode } = await examine({ DROVER_URL: cloud.url, DROVER_CONFIG: join(dir, 'absent.yaml') });
    expect(line('config')).toMatch(/^fail .*absent\.yaml can't be read \(ENOENT\)/);
    for (const name of ['disk', 'policy', 'ros']) {
      expect(line(name)).toMatch(/^warn .*not checked: the settings are not usable \(see config\)/);
    }
    expect(line('docker')).toMatch(/^warn .*no docker program/);
    expect(exitCode).toBe(1);
  });

  it('warns of a token file that everybody may read', async () => {
    const cloud = await startCloud();
    const file = join(dir, 'token');
    writeFileSync(file, TOKEN);
    chmodSync(file, 0o604);
    const env = { DROVER_URL: cloud.url, DROVER_TOKEN: '', DROVER_TOKEN_FILE: file };
    const open = await examine(env);
    expect(open.lines[1]).toMatch(/^warn {2}config .*open to every user/);
    expect(open.line('token')).toMatch(/^ok .*accepted/);
    chmodSync(file, 0o600);
    expect((await examine(env)).lines.filter((line) => line.includes('open to every user'))).toEqual([]);
  });
});

describe('the cloud', () => {
  it('is reached under the path of its address, by HTTP and by websocket, and the session ends before hello', async () => {
    const cloud = await startCloud({ base: '/fleet/drover' });
    const { line, exitCode } = await examine({ DROVER_URL: `${cloud.url}/` });
    expect(line('cloud')).toContain(`reachable: ${cloud.url}/healthz answered in`);
    expect(line('token')).toMatch(/^ok .*accepted: ws:.*\/fleet\/drover\/agent speaks drover\.v1/);
    expect(cloud.upgrades).toHaveLength(1);
    expect(cloud.upgrades[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    expect(cloud.messages).toBe(0);
    expect(cloud.closed).toEqual([1000]);
    expect(exitCode).toBe(0);
  });

  it('that refuses the token is said so, with how to get a new one', async () => {
    const cloud = await startCloud({ refuseWith: 401 });
    const { line, remedy, exitCode } = await examine({ DROVER_URL: cloud.url });
    expect(line('cloud')).toMatch(/^ok /);
    expect(line('token')).toMatch(/^fail .*refused by the cloud \(401\)/);
    expect(remedy('token')).toMatch(/POST \/robots\/\{id\}\/token.*DROVER_TOKEN/);
    expect(exitCode).toBe(1);
  });

  it('behind a proxy that passes no upgrades is told from one that refuses', async () => {
    const cloud = await startCloud({ refuseWith: 400 });
    const { line, remedy } = await examine({ DROVER_URL: cloud.url });
    expect(line('token')).toMatch(/^fail .*no websocket at .* \(400\)/);
    expect(remedy('token')).toContain('proxy_set_header Upgrade');
  });

  it('that is not there is said once; token and clock are not checked', async () => {
    const gone = await CloudFixture.start();
    const { url } = gone;
    await gone.stop();
    const { line, remedy, lines, exitCode } = await examine({ DROVER_URL: url });
    expect(line('cloud')).toMatch(/^fail .*nothing listens at 127\.0\.0\.1:\d+ \(connection refused\)/);
    expect(remedy('cloud')).toContain('DROVER_URL');
    expect(line('token')).toMatch(/^warn .*not checked/);
    expect(line('clock')).toMatch(/^warn .*not checked/);
    expect(lines.at(-1)).toMatch(/1 failed$/);
    expect(exitCode).toBe(1);
  });

  it('whose name nobody knows is told from one that is down', async () => {
    const { line } = await examine({ DROVER_URL: 'https://no-such-machine.invalid' });
    expect(line('cloud')).toMatch(/^fail .*(no machine is known by the name|can't be looked up)/);
  });

  it('asked by TLS where there is none is said so', async () => {
    const cloud = await startCloud();
    const { line } = await examine({ DROVER_URL: cloud.url.replace('http:', 'https:') });
    expect(line('cloud')).toMatch(/^fail .*does not speak TLS/);
  });

  it('in whose place something else answers is said so', async () => {
    const cloud = await startCloud({
      answer: (_, response) => void response.writeHead(302, { location: 'https://new.example/' }).end('<html>'),
    });
    const { line } = await examine({ DROVER_URL: cloud.url });
    expect(line('cloud')).toMatch(/^fail .*redirects \(302\) to https:\/\/new\.example\//);
    const other = await startCloud({ answer: (_, response) => void response.end('<html>') });
    expect((await examine({ DROVER_URL: other.url })).line('cloud')).toMatch(/^fail .*no Drover cloud/);
    const proxy = await startCloud({ answer: (_, response) => void response.writeHead(502).end() });
    expect((await examine({ DROVER_URL: proxy.url })).line('cloud')).toMatch(/^fail .*502: a proxy is there/);
  });
});

describe('the clock', () => {
  it.each([
    ['behind', 10_000],
    ['ahead of', -10_000],
  ])('%s the cloud by ten seconds is a warning that says how stamps are corrected', async (side, clockAheadMs) => {
    const cloud = await startCloud({ clockAheadMs });
    const { line, remedy, exitCode } = await examine({ DROVER_URL: cloud.url });
    expect(line('clock')).toMatch(
      new RegExp(`^warn .*clock is (9|10)\\.\\d s ${side} the cloud's \\(± \\d\\.\\d s\\)`),
    );
    expect(remedy('clock')).toMatch(/exceeds 1 s the stamps .* corrected/);
    expect(exitCode).toBe(0);
  });
});

describe('the disk', () => {
  it('is written to, timed, and left as it was', async () => {
    const cloud = await startCloud();
    const { line } = await examine({ DROVER_URL: cloud.url });
    expect(line('disk')).toMatch(/^ok .*writable, flush \d+\.\d ms, [\d.]+ [GM]B free/);
    expect(line('agent')).toMatch(/^ok .*none runs/);
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it('that is not writable fails', async () => {
    const cloud = await startCloud();
    chmodSync(dataDir, 0o555);
    chmodSync(dir, 0o755);
    // Root writes everywhere.
    const isRoot = process.geteuid?.() === 0;
    const env = { DROVER_URL: cloud.url };
    emptyConfig();
    chmodSync(join(dir, 'agent.yaml'), 0o666);
    if (isRoot) process.seteuid?.('nobody');
    try {
      const { line, remedy, exitCode } = await examine(env);
      expect(line('disk')).toMatch(/^fail .*data can't be written \(EACCES\)/);
      expect(remedy('disk')).toContain('DROVER_DATA_DIR');
      expect(exitCode).toBe(1);
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });

  it('whose directory is yet to be made is judged where it will be, and none is made', async () => {
    const cloud = await startCloud();
    const later = join(dir, 'later', 'still');
    const { line } = await examine({ DROVER_URL: cloud.url, DROVER_DATA_DIR: later });
    expect(line('disk')).toMatch(/^ok .*still: will be made at the first start/);
    expect(readdirSync(dir)).not.toContain('later');
  });

  it('that has a file where the directory should be fails', async () => {
    const cloud = await startCloud();
    writeFileSync(join(dir, 'file'), '');
    const { line } = await examine({ DROVER_URL: cloud.url, DROVER_DATA_DIR: join(dir, 'file', 'data') });
    expect(line('disk')).toMatch(/^fail .*ENOTDIR/);
  });

  it('on which an agent works is said so, and the agent keeps its lock', async () => {
    const cloud = await startCloud();
    const release = lockDataDir(dataDir);
    const { line, exitCode } = await examine({ DROVER_URL: cloud.url });
    expect(line('agent')).toMatch(/^ok .*running in/);
    expect(exitCode).toBe(0);
    expect(() => lockDataDir(dataDir)).toThrow();
    release();
    expect((await examine({ DROVER_URL: cloud.url })).line('agent')).toMatch(/^ok .*none runs/);
    lockDataDir(dataDir)();
  });
});

describe('a simulated robot', () => {
  it('is said to be one', async () => {
    const cloud = await startCloud();
    const { line } = await examine({ DROVER_URL: cloud.url, AMENT_PREFIX_PATH: '/nowhere', ROS_DISTRO: 'jazzy' });
    expect(line('ros')).toMatch(/^ok .*simulated: .*ROS 2 jazzy is sourced but not used/);
  });
});
