import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, loadConfig, misspelt, settingsHelp } from './config.js';

const problemsOf = (env: Record<string, string>): readonly string[] => {
  try {
    loadConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
};

describe('the configuration', () => {
  it('has a default for everything, and takes an empty variable as not set', () => {
    const defaults = loadConfig({});
    expect(defaults).toEqual({
      port: 8080,
      host: '127.0.0.1',
      dataDir: resolve('data'),
      apiKey: undefined,
      databaseUrl: undefined,
      natsUrl: undefined,
      logLevel: 'info',
      retentionDays: 30,
      retentionGb: 10,
      drainS: 5,
    });
    const empty = {
      DROVER_PORT: '',
      DROVER_API_KEY: '',
      DROVER_DATABASE_URL: '',
      DROVER_NATS_URL: '',
      DROVER_HOST: '',
    };
    expect(loadConfig(empty)).toEqual(defaults);
  });

  it('takes what the environment says', () => {
    const config = loadConfig({
      DROVER_PORT: '0',
      DROVER_DRAIN_S: '1.5',
      DROVER_LOG_LEVEL: 'debug',
      DROVER_DATA_DIR: '/x',
    });
    expect(config).toMatchObject({ port: 0, drainS: 1.5, logLevel: 'debug', dataDir: '/x' });
  });

  it('takes off, and 0, as no bound on what is kept', () => {
    const unbound = { retentionDays: null, retentionGb: null };
    expect(loadConfig({ DROVER_RETENTION_DAYS: 'off', DROVER_RETENTION_GB: '0' })).toMatchObject(unbound);
    const bound = { retentionDays: 0.5, retentionGb: 2 };
    expect(loadConfig({ DROVER_RETENTION_DAYS: '0.5', DROVER_RETENTION_GB: '2' })).toMatchObject(bound);
  });

  it.each([
    ['DROVER_PORT', '65536'],
    ['DROVER_PORT', '80a'],
    ['DROVER_PORT', '-1'],
    ['DROVER_DRAIN_S', 'soon'],
    ['DROVER_DRAIN_S', '0'],
    ['DROVER_RETENTION_DAYS', '30d'],
    ['DROVER_RETENTION_DAYS', '-1'],
    ['DROVER_RETENTION_DAYS', '0.00001'],
    ['DROVER_RETENTION_GB', 'ten'],
    ['DROVER_RETENTION_GB', '10000000'],
    ['DROVER_LOG_LEVEL', 'loud'],
    ['DROVER_API_KEY', 'nineteen-characters'],
    ['DROVER_API_KEY', 'ключ-которого-нет-в-ascii'],
    ['DROVER_DATABASE_URL', 'postgres://localhost/drover'],
    ['DROVER_NATS_URL', 'nats://localhost'],
  ])('refuses %s=%s, naming it', (variable, value) => {
    const [problem = ''] = problemsOf({ [variable]: value });
    expect(problem).toMatch(new RegExp(`^${variable}: .+`));
  });

  it('names everything that is wrong at once', () => {
    expect(problemsOf({ DROVER_PORT: 'x', DROVER_DRAIN_S: 'x' })).toHaveLength(2);
  });

  it('never shows the key in an error', () => {
    expect(problemsOf({ DROVER_API_KEY: 'my-short-secret' }).join()).not.toContain('my-short-secret');
  });

  it('names the setting that a misspelt variable means, and takes none of the agent’s or of the tests’ for one', () => {
    const words = 'DROVER_RETENTION_DAY is no setting and is ignored; did you mean DROVER_RETENTION_DAYS?';
    expect(misspelt({ DROVER_RETENTION_DAY: '3', DROVER_PORT: '1' })).toEqual([words]);
    const others = ['URL', 'TOKEN', 'TOKEN_FILE', 'ROS', 'ROS_REMAP', 'CONFIG', 'SPOOL_MAX_MB', 'BATTERY_TOPIC'];
    const tests = ['TEST_ROS', 'TEST_LONG', 'TEST_ROBOTS', 'CACHE_DIR', 'RCLNODEJS', 'DEMO_DIR', 'PYTHON', 'API'];
    expect(misspelt(Object.fromEntries([...others, ...tests].map((name) => [`DROVER_${name}`, '1'])))).toEqual([]);
  });

  it('describes every setting in the help', () => {
    const names = ['PORT', 'HOST', 'DATA_DIR', 'API_KEY', 'RETENTION_DAYS', 'RETENTION_GB', 'DRAIN_S'];
    for (const name of names) expect(settingsHelp()).toContain(`DROVER_${name}`);
  });

  it('begins the descriptions in the help in one column', () => {
    const columns = settingsHelp()
      .split('\n')
      .slice(1)
      .map((line) => /^ {2}\S+ +/.exec(line)?.[0].length);
    expect(new Set(columns).size).toBe(1);
  });
});
