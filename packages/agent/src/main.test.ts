import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempDataDir } from './spool/fixture.js';

const BIN = fileURLToPath(new URL('../bin/drover-agent.js', import.meta.url));

/** The agent as a user starts it, with only these settings. */
function start(settings: Record<string, string>, args: string[] = []) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('DROVER_'));
  const env = { ...Object.fromEntries(inherited), ...settings };
  const child = spawn(process.execPath, [BIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  let wake = () => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      printed += data;
      wake();
    });
  }
  const ended = once(child, 'close').then(([code]) => code as number | null);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    child,
    ended,
    text: () => printed,
    printed: async (words: string) => {
      while (!printed.includes(words)) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

const simulated = (dataDir: string) => ({
  DROVER_URL: 'http://127.0.0.1:1',
  DROVER_TOKEN: 'drt_not_to_be_printed',
  DROVER_ROS: 'simulated',
  DROVER_DATA_DIR: dataDir,
});

describe('drover-agent', () => {
  it('with wrong settings names all of them and ends with 78, which a supervisor need not try again', async () => {
    const agent = start({ DROVER_ROS: 'simulated', DROVER_URL: 'http://example.com', DROVER_LOG_LEVEL: 'loud' });
    expect(await agent.ended).toBe(78);
    expect(agent.text()).toMatch(/DROVER_URL: .*DROVER_ALLOW_INSECURE=1/);
    expect(agent.text()).toMatch(/DROVER_TOKEN: not set/);
    expect(agent.text()).toMatch(/DROVER_LOG_LEVEL: /);
  });

  it.each([
    ['/proc/drover', 'ENOENT'],
    ['/dev/null/drover', 'ENOTDIR'],
  ])('says in one line that the data directory %s can not be used, and what to do', async (dataDir, reason) => {
    const agent = start(simulated(dataDir));
    expect(await agent.ended).toBe(1);
    expect(agent.text()).toContain(`the data directory ${dataDir} can not be used: ${reason}`);
    expect(agent.text()).toContain('DROVER_DATA_DIR');
    expect(agent.text().trim().split('\n')).toHaveLength(1);
  });

  it('says which setting was meant by a variable that it ignores, where it starts and where it can not', async () => {
    const words = 'DROVER_TOKN is no setting and is ignored; did you mean DROVER_TOKEN?';
    const unfit = start({ DROVER_ROS: 'simulated', DROVER_URL: 'http://127.0.0.1:1', DROVER_TOKN: 'drt_secret_value' });
    expect(await unfit.ended).toBe(78);
    expect(unfit.text()).toContain(words);
    const agent = start({ ...simulated(tempDataDir()), DROVER_TOKN: 'drt_secret_value', DROVER_TEST_SEED: '1' });
    await agent.printed(words);
    await agent.printed('cloud can not be reached');
    expect(`${unfit.text()}${agent.text()}`).not.toContain('drt_secret_value');
    expect(agent.text().split('is no setting')).toHaveLength(2);
  });

  it('refuses a command it does not have, and names the one that was meant', async () => {
    const agent = start({}, ['docter']);
    expect(await agent.ended).not.toBe(0);
    expect(agent.text()).toContain('no command docter; did you mean doctor?');
  });

  it('runs without a cloud, and stops with 0 on SIGTERM, also when it comes twice', async () => {
    const agent = start(simulated(tempDataDir()));
    await agent.printed('cloud can not be reached');
    agent.child.kill('SIGTERM');
    agent.child.kill('SIGTERM');
    expect(await agent.ended).toBe(0);
    expect(agent.text()).not.toContain('drt_not_to_be_printed');
  });

  it('refuses a data directory where another one works, until that is gone', async () => {
    const dataDir = tempDataDir();
    const first = start(simulated(dataDir));
    await first.printed('agent started');
    const second = start(simulated(dataDir));
    expect(await second.ended).toBe(1);
    expect(second.text()).toContain('another agent is running');
    first.child.kill('SIGKILL');
    await first.ended;
    await start(simulated(dataDir)).printed('agent started');
  });

  it('prints its settings with --help and its date with --version', async () => {
    const help = start({}, ['--help']);
    expect(await help.ended).toBe(0);
    expect(help.text()).toContain('DROVER_DATA_DIR (yaml: data_dir) [./drover-agent-data]');
    expect(help.text()).toContain('policy (agent.yaml only)');
    expect(help.text()).toContain('Usage: drover-agent [options] [command]\n');
    const version = start({}, ['--version']);
    await version.ended;
    expect(version.text()).toMatch(/^\d{4}-\d\d-\d\d\n$/);
  });
});
