import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, loadConfig, readToken } from './config.js';
import { SETTINGS, settingsHelp } from './settings.js';

const TOKEN = 'drt_0123456789abcdef0123456789';
const base = { DROVER_URL: 'https://drover.example.com', DROVER_TOKEN: TOKEN, DROVER_ROS: 'simulated' };

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'drover-config-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

function problemsOf(env: Record<string, string>): Record<string, string> {
  try {
    loadConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.message).not.toContain(TOKEN);
    return Object.fromEntries(error.problems.map((problem) => [problem.field, problem.message]));
  }
  return {};
}

describe('the address', () => {
  it.each([
    ['https://drover.example.com', 'wss://drover.example.com/agent', 'https://drover.example.com'],
    ['wss://drover.example.com/', 'wss://drover.example.com/agent', 'https://drover.example.com'],
    ['https://example.com/fleet/', 'wss://example.com/fleet/agent', 'https://example.com/fleet'],
    ['http://localhost:8080', 'ws://localhost:8080/agent', 'http://localhost:8080'],
    ['ws://127.0.0.1:8080/x', 'ws://127.0.0.1:8080/x/agent', 'http://127.0.0.1:8080/x'],
    ['http://[::1]:8080', 'ws://[::1]:8080/agent', 'http://[::1]:8080'],
  ])('%s is the link %s', (url, linkUrl, httpUrl) => {
    expect(loadConfig({ ...base, DROVER_URL: url })).toMatchObject({ linkUrl, httpUrl });
  });

  it.each(['http://drover.example.com', 'ws://10.0.0.7:8080', 'http://localhost.evil.com', 'http://127.evil.com'])(
    'in clear text to another machine (%s) is refused, naming the way out, and allowed by it',
    (url) => {
      expect(problemsOf({ ...base, DROVER_URL: url }).DROVER_URL).toContain('DROVER_ALLOW_INSECURE=1');
      expect(loadConfig({ ...base, DROVER_URL: url, DROVER_ALLOW_INSECURE: '1' }).linkUrl).toMatch(/^ws:/);
    },
  );

  it.each(['drover.example.com:80', 'ftp://x', 'https://a:b@example.com', 'https://example.com?x=1'])(
    '%s is refused',
    (url) => {
      expect(problemsOf({ ...base, DROVER_URL: url })).toHaveProperty('DROVER_URL');
    },
  );
});

describe('sources', () => {
  it('an empty variable counts as not set', () => {
    const config = loadConfig({ ...base, DROVER_DATA_DIR: '', DROVER_CONFIG: '', DROVER_SPOOL_MAX_MB: '' });
    expect(config.dataDir).toMatch(/\/drover-agent-data$/);
    expect(config.spoolBytesMax).toBe(1_000_000_000);
    expect(config.spoolAgeMsMax).toBe(7 * 24 * 3_600_000);
    expect(config.spoolMemoryBytesMax).toBe(16_000_000);
  });

  it('YAML gives what the environment does not, and the environment wins', () => {
    const path = file(
      'agent.yaml',
      `url: https://yaml.example.com\ntoken: ${TOKEN}\nspool_max_mb: 64\nspool_max_age_days: 2\nros: simulated\n`,
    );
    const config = loadConfig({ DROVER_CONFIG: path, DROVER_URL: 'https://env.example.com' });
    expect(config).toMatchObject({ httpUrl: 'https://env.example.com', token: { token: TOKEN } });
    expect(config).toMatchObject({ spoolBytesMax: 64e6, spoolAgeMsMax: 2 * 24 * 3_600_000 });
  });

  it('a named file that is missing is an error, an empty file is none', () => {
    expect(problemsOf({ ...base, DROVER_CONFIG: join(dir, 'none.yaml') }).DROVER_CONFIG).toContain('ENOENT');
    expect(problemsOf({ ...base, DROVER_CONFIG: file('empty.yaml', '# nothing\n') })).toEqual({});
  });

  it('an unknown YAML key is an error that names the nearest', () => {
    const path = file('agent.yaml', 'spool_max_bm: 3\ncolour: red\n');
    const problems = problemsOf({ ...base, DROVER_CONFIG: path });
    expect(problems[`spool_max_bm in ${path}`]).toContain('did you mean spool_max_mb?');
    expect(problems[`colour in ${path}`]).toContain('known are url, token');
  });

  it('broken YAML is told by its place, without quoting the line', () => {
    const path = file('agent.yaml', `token: "${TOKEN}\nurl: [`);
    expect(problemsOf({ ...base, DROVER_CONFIG: path })[path]).toMatch(/is no YAML: .*\d$/);
  });
});

describe('the token', () => {
  it('is read from its file, and again when the file changes', () => {
    const path = file('token', `${TOKEN}\n`);
    const { DROVER_TOKEN: _, ...rest } = base;
    const config = loadConfig({ ...rest, DROVER_TOKEN_FILE: path });
    expect(readToken(config.token)).toBe(TOKEN);
    writeFileSync(path, 'drt_another_token');
    expect(readToken(config.token)).toBe('drt_another_token');
  });

  it('in both forms at once is refused, unless one of them is only in YAML', () => {
    const path = file('token', TOKEN);
    expect(Object.values(problemsOf({ ...base, DROVER_TOKEN_FILE: path }))).toEqual(['both are set: keep one']);
    const yaml = file('agent.yaml', `token_file: ${path}\n`);
    expect(loadConfig({ ...base, DROVER_CONFIG: yaml }).token).toEqual({ token: TOKEN });
  });

  it('of impossible characters is refused without being shown', () => {
    const problems = problemsOf({ ...base, DROVER_TOKEN: 'drt_secret\nx-header: 1' });
    expect(problems.DROVER_TOKEN).toContain('characters');
    expect(JSON.stringify(problems)).not.toContain('secret');
  });
});

describe('the ROS graph', () => {
  it('auto is rclnodejs where ROS 2 is sourced, else an error that names both choices', () => {
    const { DROVER_ROS: _, ...rest } = base;
    expect(loadConfig({ ...rest, AMENT_PREFIX_PATH: '/opt/ros/jazzy' }).ros).toBe('rclnodejs');
    const message = problemsOf(rest).DROVER_ROS;
    expect(message).toContain('DROVER_ROS=rclnodejs');
    expect(message).toContain('DROVER_ROS=simulated');
  });
});

describe('names', () => {
  it('are resolved for the namespace and the remaps of the environment', () => {
    const env = { DROVER_ROS_NAMESPACE: '/r1', DROVER_ROS_REMAP: ' cmd_vel:=/base/cmd_vel\t/odom:=/wheel/odom ' };
    expect(loadConfig({ ...base, ...env })).toMatchObject({
      rosNamespace: '/r1',
      rosRemap: [
        { from: 'cmd_vel', to: '/base/cmd_vel' },
        { from: '/odom', to: '/wheel/odom' },
      ],
    });
    expect(loadConfig(base)).toMatchObject({ rosNamespace: '/', rosRemap: [] });
  });

  it('are resolved for those of the file as well, where remaps are a list or one text', () => {
    const list = file('list.yaml', 'ros_namespace: /r1\nros_remap:\n  - a:=b\n  - c:=d\n');
    const text = file('text.yaml', 'ros_remap: a:=b c:=d\n');
    const rosRemap = [
      { from: 'a', to: 'b' },
      { from: 'c', to: 'd' },
    ];
    expect(loadConfig({ ...base, DROVER_CONFIG: list })).toMatchObject({ rosNamespace: '/r1', rosRemap });
    expect(loadConfig({ ...base, DROVER_CONFIG: text })).toMatchObject({ rosRemap });
    expect(loadConfig({ ...base, DROVER_CONFIG: file('none.yaml', 'ros_remap: []\n') }).rosRemap).toEqual([]);
  });

  it('that are wrong are told by setting and rule', () => {
    const env = { DROVER_ROS_NAMESPACE: 'r1', DROVER_ROS_REMAP: 'a:=b a->c /x:=/y/' };
    const problems = problemsOf({ ...base, ...env });
    expect(problems.DROVER_ROS_NAMESPACE).toContain('begins with /');
    expect(problems.DROVER_ROS_REMAP).toContain('"a->c" is no remap: write FROM:=TO');
    expect(problems.DROVER_ROS_REMAP).toContain('"/x:=/y/" is no remap: a ROS name must not end with /');
    const path = file('agent.yaml', 'ros_remap:\n  - a:=b\n  - [1]\nros_namespace: [/a]\n');
    const inFile = problemsOf({ ...base, DROVER_CONFIG: path });
    expect(inFile[`ros_remap in ${path}`]).toBe('must be a list of texts');
    expect(inFile[`ros_namespace in ${path}`]).toBe('must be a single value');
    const many = Array.from({ length: 101 }, (_, n) => `a${n}:=b`).join(' ');
    expect(problemsOf({ ...base, DROVER_ROS_REMAP: many }).DROVER_ROS_REMAP).toContain('at most 100');
  });
});

describe('the policy', () => {
  it('is read from the file, and all is allowed where there is none', () => {
    const path = file('agent.yaml', 'policy:\n  topics:\n    allow:\n      - /cmd_vel\n      - /lights/**\n');
    expect(loadConfig({ ...base, DROVER_CONFIG: path }).policy.topics.allow).toHaveLength(2);
    expect(loadConfig(base).policy.topics).toEqual({ allow: null, deny: [] });
  });

  it('that is wrong is a problem named by its place, never "no rules"', () => {
    const path = file('agent.yaml', 'policy:\n  topics:\n    deny:\n      - cmd_vel\n');
    expect(problemsOf({ ...base, DROVER_CONFIG: path })[`policy.topics.deny[0] in ${path}`]).toContain('begins with /');
    const empty = file('empty.yaml', 'policy:\n');
    expect(problemsOf({ ...base, DROVER_CONFIG: empty })).toHaveProperty([`policy in ${empty}`]);
  });
});

it('reports every problem at once, each with its field', () => {
  const problems = problemsOf({
    DROVER_ROS: 'gazebo',
    DROVER_SPOOL_MAX_MB: '-1',
    DROVER_SPOOL_MAX_AGE_DAYS: '0',
    DROVER_LOG_LEVEL: 'loud',
  });
  expect(Object.keys(problems).sort()).toEqual([
    'DROVER_LOG_LEVEL',
    'DROVER_ROS',
    'DROVER_SPOOL_MAX_AGE_DAYS',
    'DROVER_SPOOL_MAX_MB',
    'DROVER_TOKEN',
    'DROVER_URL',
  ]);
});

it('the help names every setting', () => {
  for (const setting of Object.values(SETTINGS)) expect(settingsHelp()).toContain(setting.env);
});
