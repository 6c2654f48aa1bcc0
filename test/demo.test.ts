import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

/** The demo as a user starts it, on a free port and in a data directory of its own. */
class Demo {
  readonly #child;
  readonly output: string[] = [];
  readonly ended: Promise<number>;

  constructor(dataDir: string, port = '0') {
    this.#child = spawn(process.execPath, ['scripts/demo.mjs'], {
      cwd: checkout,
      env: { ...process.env, DROVER_DEMO_DIR: dataDir, DROVER_PORT: port },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.ended = once(this.#child, 'exit').then(([code]) => code);
  }

  /** Reads until the demo says it is ready, or ends. */
  async ready(): Promise<string> {
    const lines = createInterface({ input: this.#child.stdout });
    createInterface({ input: this.#child.stderr }).on('line', (line) => this.output.push(line));
    const ready = new Promise<void>((resolve) => {
      lines.on('line', (line) => {
        this.output.push(line);
        if (line.startsWith('Ctrl-C')) resolve();
      });
    });
    await Promise.race([ready, this.ended]);
    return this.output.join('\n');
  }

  /** Waits until it has printed `words`. */
  async says(words: string): Promise<void> {
    while (!this.output.some((line) => line.includes(words))) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  async interrupt(): Promise<number> {
    this.#child.kill('SIGINT');
    return await this.ended;
  }
}

/** The data directory in a process's environment. */
async function dataDirOf(pid: number): Promise<string | undefined> {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  return /(?:^|\0)DROVER_DATA_DIR=([^\0]*)/.exec(environment)?.[1];
}

describe('npm run demo', () => {
  let dataDir: string;
  let demo: Demo;
  let printed: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'drover-demo-'));
    demo = new Demo(dataDir);
    printed = await demo.ready();
  }, 120_000);

  afterAll(async () => {
    await demo?.interrupt();
    await rm(dataDir, { recursive: true, force: true });
  });

  const keyIn = (text: string) => /API key +(\S+)/.exec(text)?.[1];

  it('prints an API key, the address of /app, and curl lines that work as pasted', async () => {
    expect(keyIn(printed)).toMatch(/^drk_/);
    const app = /Status +(\S+)/.exec(printed)?.[1] ?? '';
    expect((await fetch(app)).status).toBe(200);

    const lines = printed.split('\n').filter((line) => line.trim().startsWith('curl'));
    expect(lines.length).toBeGreaterThanOrEqual(9);
    for (const line of lines) {
      const { stdout } = await run('bash', ['-c', line.trim()]);
      expect(JSON.parse(stdout), line).not.toHaveProperty('error_code', expect.stringMatching(/./));
    }
  });

  it('samples /odom at 2 Hz, and its log and vitals can be read', async () => {
    const ask = async (part: string): Promise<unknown[]> => {
      const line = printed.split('\n').find((text) => text.includes(part)) ?? '';
      return JSON.parse((await run('bash', ['-c', line.trim()])).stdout);
    };
    let points: unknown[] = [];
    while (points.length < 3) points = await ask('/data?source=/odom');
    const stamps = (points as { stamp: string }[]).map((point) => Date.parse(point.stamp));
    // Over all of them: after a stall two may come close to each other.
    expect(((stamps[0] ?? 0) - (stamps.at(-1) ?? 0)) / (stamps.length - 1)).toBeGreaterThan(350);
    while ((await ask('/vitals?latest_only')).length === 0);
    while ((await ask('%2Frosout')).length === 0);
  });

  it('says which port is taken and how to choose another', async () => {
    const port = new URL(/API +(http\S+)/.exec(printed)?.[1] ?? '').port;
    const otherDir = await mkdtemp(join(tmpdir(), 'drover-demo-'));
    const second = new Demo(otherDir, port);
    const words = await second.ready();
    expect(await second.ended).toBe(1);
    expect(words).toContain(`port ${port} is taken`);
    expect(words).toContain('DROVER_PORT=');
    await rm(otherDir, { recursive: true, force: true });
  });

  it('says that another demo runs on the same data, and how to give this one its own', async () => {
    const second = new Demo(dataDir);
    const words = await second.ready();
    expect(await second.ended).toBe(1);
    expect(words).toContain('another demo runs');
    expect(words).toContain('DROVER_DEMO_DIR=');
  });

  it('starts an agent that was killed again, and says so', async () => {
    const { stdout } = await run('pgrep', ['-f', `packages/agent/bin/drover-agent.js`]);
    const pids = stdout.trim().split('\n').map(Number);
    const ours = await Promise.all(pids.map(async (pid) => ({ pid, dir: await dataDirOf(pid) })));
    const rover = ours.find(({ dir }) => dir === join(dataDir, 'rover-2'));
    process.kill(rover?.pid ?? 0, 'SIGKILL');
    await demo.says('agent rover-2 ended (SIGKILL) and is started again');
    const robots = printed.split('\n').find((line) => line.trim().endsWith("/robots'")) ?? '';
    let online: boolean[] = [];
    while (online.length !== 3 || online.includes(false)) {
      const { stdout: answer } = await run('bash', ['-c', robots.trim()]);
      online = (JSON.parse(answer) as { online: boolean }[]).map((robot) => robot.online);
    }
  });

  it('stops cleanly at Ctrl-C and goes on with the same key and data at a second run', async () => {
    expect(await demo.interrupt()).toBe(0);
    const again = new Demo(dataDir);
    const words = await again.ready();
    expect(keyIn(words)).toBe(keyIn(printed));
    expect(words).toContain('kept from the run before');
    expect(await again.interrupt()).toBe(0);
  });
});
