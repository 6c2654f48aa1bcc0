import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RawRobot } from './network/raw-robot.js';
import { TestCloud } from './support/cloud.js';

const ROBOTS = 300;
/** Connected at once: more would wait in line on a busy machine. */
const AT_ONCE = 20;

/**
 * Some 4 KiB with Node's socket and ws, which take 2.7 of it in a bare server. It was 9.3 when a session kept its upgrade request, loggers,
 * closures and empty collections.
 */
const HEAP_BYTES_MAX = 6 * 1024;

/**
 * At SIGUSR2 collects all garbage and says what is left. Code is not optimized: what is compiled while robots connect would count as theirs.
 */
const HEAP_TELLER = `
  import { setFlagsFromString } from 'node:v8';
  for (const flag of ['--no-opt', '--no-sparkplug', '--no-maglev', '--no-flush-bytecode']) setFlagsFromString(flag);
  process.on('SIGUSR2', () => {
    for (let times = 0; times < 3; times += 1) gc();
    process.stdout.write(JSON.stringify({ msg: 'heap', bytes: process.memoryUsage().heapUsed }) + '\\n');
  });`;

describe('an idle session', () => {
  let dir: string;
  let cloud: TestCloud;
  let tokens: string[];

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'drover-idle-'));
    const teller = join(dir, 'teller.mjs');
    writeFileSync(teller, HEAP_TELLER);
    const env = { NODE_OPTIONS: `--expose-gc --import=${pathToFileURL(teller)}` };
    cloud = await TestCloud.start(env, join(dir, 'cloud'));
    const names = Array.from({ length: 2 * ROBOTS }, (_, at) => `rover-${at}`);
    tokens = await concurrently(names, (name) => cloud.register(name));
  });
  afterAll(async () => {
    await cloud.stop();
    await rm(dir, { recursive: true, force: true });
  });

  async function heapBytes(): Promise<number> {
    // Presence has been stored, and whatever else openings leave to do.
    await cloud.until<{ online: boolean }[]>('/robots', (robots) => robots.filter(isOnline).length % ROBOTS === 0);
    const since = cloud.process.lines.length;
    cloud.process.signal('SIGUSR2');
    return Number((await cloud.process.line(({ msg }) => msg === 'heap', since)).bytes);
  }

  it('takes the gateway little more than its socket does', async () => {
    const connect = (token: string) => RawRobot.connect(cloud.url, token);
    // What the first ones leave behind (compiled code, prepared statements) is not theirs.
    await concurrently(tokens.slice(0, ROBOTS), connect);
    await heapBytes();
    const before = await heapBytes();
    await concurrently(tokens.slice(ROBOTS), connect);
    await heapBytes();
    expect(((await heapBytes()) - before) / ROBOTS).toBeLessThan(HEAP_BYTES_MAX);
  });
});

function isOnline({ online }: { online: boolean }): boolean {
  return online;
}

async function concurrently<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  const worker = async () => {
    for (const [at, item] of waiting) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}
