import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempDataDir } from '../spool/fixture.js';

const BIN = fileURLToPath(new URL('../../bin/drover-agent', import.meta.url));

interface Options {
  args?: string[];
  env?: Record<string, string>;
  bin?: string;
}

/** The supervisor, run with these settings; every process it starts is ended with it. */
function supervise({ args = [], env = {}, bin = BIN }: Options = {}) {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(DROVER_|npm_command)/.test(name));
  const child = spawn(bin, args, {
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const { pid = 0 } = child;
  let printed = '';
  let wake = () => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      printed += data;
      wake();
    });
  }
  const exited = once(child, 'exit').then(([code, signal]) => code ?? signal);
  /** Nobody holds its output any more: it and all that it started are gone. */
  const allGone = once(child, 'close');
  onTestFinished(async () => {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // All have ended.
    }
    await allGone;
  });
  return {
    child,
    exited,
    allGone,
    text: () => printed,
    printed: async (words: string, times = 1) => {
      while (printed.split(words).length <= times) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/**
 * A `node` that is none: it says what it was told and lives its lives one after another, each a piece of shell.
 * Returns the environment that makes the supervisor start it.
 */
function lives(...all: string[]): Record<string, string> {
  const dir = tempDataDir();
  const cases = all.map((life, index) => `${index + 1}) ${life} ;;`).join('\n');
  writeFileSync(
    join(dir, 'node'),
    `#!/bin/sh
    echo . >>"${dir}/lives"
    echo "life $(wc -l <"${dir}/lives"), args: $*, before: $DROVER_PREVIOUS_END"
    case $(wc -l <"${dir}/lives") in
    ${cases}
    *) exit 0 ;;
    esac\n`,
  );
  chmodSync(join(dir, 'node'), 0o755);
  return { PATH: `${dir}:${process.env.PATH}` };
}

const simulated = (dataDir: string) => ({
  DROVER_URL: 'http://127.0.0.1:1',
  DROVER_TOKEN: 'drt_a-token-of-a-robot',
  DROVER_ROS: 'simulated',
  DROVER_DATA_DIR: dataDir,
});

/** The pid of the process of the agent that last said that it has started. */
const pidOf = (dataDir: string) => Number(readFileSync(join(dataDir, 'pid'), 'utf8'));

describe('the supervisor of the agent', () => {
  it.each([
    ['SIGABRT', 'kill -ABRT $$', 'SIGABRT'],
    ['SIGSEGV', 'kill -SEGV $$', 'SIGSEGV'],
    ['SIGBUS', 'kill -BUS $$', 'SIGBUS'],
    ['SIGILL', 'kill -ILL $$', 'SIGILL'],
    ['SIGFPE', 'kill -FPE $$', 'SIGFPE'],
    ['kill -9', 'kill -KILL $$', 'SIGKILL'],
    ['a defect', 'exit 70', 'exit 70'],
  ])('starts one anew that died of %s, and tells it so', async (_, death, told) => {
    const supervisor = supervise({ env: lives(death, 'exit 0') });
    expect(await supervisor.exited).toBe(0);
    await supervisor.allGone;
    expect(supervisor.text()).toMatch(/life 1, .* before: \n/);
    expect(supervisor.text()).toMatch(new RegExp(`life 2, .* before: ${told}\n`));
    const line = supervisor
      .text()
      .split('\n')
      .find((text) => text.includes('"part":"supervisor"'));
    expect(JSON.parse(line ?? '')).toMatchObject({
      level: 50,
      msg: `the agent died (${told}) and is started again in 0 s`,
      time: expect.any(Number),
    });
  });

  it.each([0, 1, 2, 78, 143])('ends with the same code where one ends with %d', async (code) => {
    const supervisor = supervise({ env: lives(`exit ${code}`, 'exit 99') });
    expect(await supervisor.exited).toBe(code);
  });

  it('starts three anew at once, and pauses from then on', async () => {
    const supervisor = supervise({ env: lives(...Array(5).fill('kill -ABRT $$'), 'exit 0') });
    expect(await supervisor.exited).toBe(0);
    await supervisor.allGone;
    expect([...supervisor.text().matchAll(/again in (\d+) s/g)].map(([, pause]) => Number(pause))).toEqual([
      0, 0, 0, 1, 2,
    ]);
  });

  it('becomes the agent itself where it has arguments, also through a link', async () => {
    const bin = join(tempDataDir(), 'drover-agent');
    symlinkSync(BIN, bin);
    const supervisor = supervise({ bin, args: ['--help', 'me'], env: lives('kill -ABRT $$', 'exit 0') });
    expect(await supervisor.exited).toBe('SIGABRT');
    await supervisor.allGone;
    expect(supervisor.text()).toContain(`life 1, args: ${BIN}.js --help me, before: \n`);
    expect(supervisor.text()).not.toContain('life 2');
  });

  it('bounds the memory that the agent keeps, where the user has not said otherwise', async () => {
    const env = lives('echo "$MALLOC_ARENA_MAX $MALLOC_TRIM_THRESHOLD_ $MALLOC_MMAP_THRESHOLD_"; exit 0');
    const supervisor = supervise({ env: { ...env, MALLOC_ARENA_MAX: '7', MALLOC_MMAP_THRESHOLD_: '' } });
    expect(await supervisor.exited).toBe(0);
    await supervisor.allGone;
    expect(supervisor.text()).toContain(`args: --max-semi-space-size=4 ${BIN}.js`);
    expect(supervisor.text()).toContain('\n7 262144 4194304\n');
  });

  it('ends one that has begun to count and stands still, as if it had crashed', async () => {
    const hang = 'echo 1 >"$DROVER_BEATS_FILE"; exec sleep 100';
    const counting =
      'for n in 1 2 3 4 5 6 7 8; do echo $n >"$DROVER_BEATS_FILE"; sleep 0.2; done; echo counted; exit 0';
    const supervisor = supervise({ env: { ...lives(hang, counting), DROVER_TEST_LOOK_S: '0.2' } });
    expect(await supervisor.exited).toBe(0);
    await supervisor.allGone;
    expect(supervisor.text()).toContain('the agent died (SIGABRT)');
    expect(supervisor.text()).toContain('counted');
  });

  it('lets one be that has not begun to count, however long it takes', async () => {
    const supervisor = supervise({ env: { ...lives('sleep 1.5; exit 0', 'exit 9'), DROVER_TEST_LOOK_S: '0.2' } });
    expect(await supervisor.exited).toBe(0);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'passes %s on, and ends as the agent does; nothing is left',
    async (signal) => {
      const dataDir = tempDataDir();
      const supervisor = supervise({ env: simulated(dataDir) });
      await supervisor.printed('agent started');
      supervisor.child.kill(signal);
      supervisor.child.kill(signal);
      expect(await supervisor.exited).toBe(0);
      await supervisor.allGone;
      expect(supervisor.text()).toContain('agent stopped');
    },
  );

  it('stops in a pause, too', async () => {
    const supervisor = supervise({ env: lives(...Array(9).fill('kill -ABRT $$')) });
    await supervisor.printed('again in 4 s');
    supervisor.child.kill('SIGTERM');
    expect(await supervisor.exited).toBe(0);
    await supervisor.allGone;
  });

  it('starts the agent anew after a kill -9, on the same data directory', async () => {
    const dataDir = tempDataDir();
    const supervisor = supervise({ env: { ...simulated(dataDir), ...withPid(dataDir) } });
    await supervisor.printed('agent started');
    process.kill(pidOf(dataDir), 'SIGKILL');
    await supervisor.printed('agent started', 2);
    supervisor.child.kill('SIGTERM');
    expect(await supervisor.exited).toBe(0);
  });

  it('takes the agent with it when it is killed by kill -9, and the next one starts at once', async () => {
    const dataDir = tempDataDir();
    const supervisor = supervise({ env: simulated(dataDir) });
    await supervisor.printed('agent started');
    supervisor.child.kill('SIGKILL');
    const next = supervise({ env: simulated(dataDir) });
    await next.printed('agent started');
    await supervisor.allGone;
    expect(supervisor.text()).not.toContain('agent stopped');
    next.child.kill('SIGTERM');
    expect(await next.exited).toBe(0);
  });

  it('under npx ends with it, though npx passes no signal on', async () => {
    const supervisor = supervise({
      bin: 'npx',
      args: ['drover-agent'],
      env: simulated(tempDataDir()),
    });
    await supervisor.printed('agent started');
    supervisor.child.kill('SIGTERM');
    await supervisor.allGone;
    expect(supervisor.text()).toContain('agent stopped');
  });
});

/** Makes a process of the agent write its pid into its data directory. */
function withPid(dataDir: string): Record<string, string> {
  const path = join(dataDir, 'pid.mjs');
  writeFileSync(
    path,
    `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(join(dataDir, 'pid'))}, String(process.pid));`,
  );
  return { NODE_OPTIONS: `--import=${path}` };
}
