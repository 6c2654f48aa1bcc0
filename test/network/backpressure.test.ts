import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TestAgent } from '../support/agent.js';
import { TestCloud } from '../support/cloud.js';
import { quantile, report, rssMb } from './measure.js';
import { RawRobot } from './raw-robot.js';

const TRIGGER = { interface: 'service', name: '/reset_odometry', type: 'std_srvs/srv/Trigger', payload: {} };
const COUNTER = { source: '/counter', type: 'std_msgs/msg/Int64', hz: 100 };
const program = fileURLToPath(new URL('../dist/network/flood-process.js', import.meta.url));

interface Flooded {
  readonly rowsASecond: number;
  /** Batches sent and not acknowledged. */
  readonly aheadMax: number;
  readonly endedWith: number | null;
}

/** A flood from a process of its own; `end` says what came of it. */
function flooding(url: string, token: string, { rows, bytes }: Record<'rows' | 'bytes', number>) {
  const args = [program, url, token, rows, bytes].map(String);
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  // Read from the begin: it prints and ends by itself where its session ended.
  const said = text(child.stdout);
  return {
    end: async () => {
      child.stdin.end();
      return JSON.parse(await said) as Flooded;
    },
  };
}

/**
 * The cloud's heap: by default V8 takes gigabytes before it collects in earnest, and what is garbage could not be told from what is
 * kept. With more than this to keep, it dies.
 */
const CLOUD_HEAP_MB = 96;
/** What a flood, or a peer that does not read, may cost either side beyond what it had: that heap, and buffers beside it. */
const GROWTH_MB_MAX = 200;

/** Long enough for a cloud that kept all that comes to be full. */
const FLOOD_MS = 10_000;

interface Point {
  stamp: string;
  payload: { data: number };
}

describe('a robot and a cloud that keep to each other’s pace', () => {
  let cloud: TestCloud;
  let agent: TestAgent;
  let raw: RawRobot | undefined;

  beforeAll(async () => {
    cloud = await TestCloud.start({ NODE_OPTIONS: `--max-old-space-size=${CLOUD_HEAP_MB}` });
    agent = await TestAgent.start({ url: cloud.url, token: await cloud.register('rover-1') });
    await cloud.online('rover-1');
    await cloud.call('POST', '/robots/rover-1/streams', COUNTER);
    await cloud.until<unknown[]>('/robots/rover-1/data?source=/counter&limit=1', (points) => points.length === 1);
  });
  afterEach(() => raw?.end());
  afterAll(async () => {
    await agent?.stop();
    await cloud?.stop();
  });

  /** How rover-1 fares for a while: what its commands take, and how old its newest sample is. */
  async function watch(forMs: number) {
    const commands: number[] = [];
    const lags: number[] = [];
    let rss = 0;
    for (const startMs = Date.now(); Date.now() - startMs < forMs; ) {
      const postedMs = Date.now();
      expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
      commands.push(Date.now() - postedMs);
      const [newest] = await cloud.get<Point[]>('/robots/rover-1/data?source=/counter&limit=1');
      lags.push(Date.now() - Date.parse(newest?.stamp ?? ''));
      rss = Math.max(rss, rssMb(cloud.process.pid));
    }
    const figures = (values: number[]) => ({ median: quantile(values, 0.5), max: Math.max(...values) });
    return { commands: figures(commands), lags: figures(lags), rss };
  }

  it.each([
    ['as many small rows as it can', { rows: 2_000, bytes: 16 }],
    ['big messages', { rows: 1, bytes: 4 * 1024 * 1024 }],
  ])(
    'a robot that floods with %s delays nobody else’s commands and data, nor fills the cloud’s memory',
    async (_what, flood) => {
      const quiet = await watch(2_000);
      const flooder = flooding(cloud.url, await cloud.register(`flooder-${flood.rows}`), flood);
      const flooded = await watch(FLOOD_MS);
      const done = await flooder.end();
      report(`flood of ${flood.rows} rows of ${flood.bytes} bytes a batch`, { quiet, flooded, done });
      // It waits for no acknowledgement: were it read on, its session would soon end for more than 64 batches under way.
      expect(done.endedWith).toBeNull();
      expect(done.rowsASecond).toBeGreaterThan(0);
      // A command lives for five seconds; each was executed.
      expect(flooded.commands.max).toBeLessThan(5_000);
      expect(flooded.lags.max).toBeLessThan(5_000);
      expect(flooded.rss - quiet.rss).toBeLessThan(GROWTH_MB_MAX);
    },
  );

  it('a robot that reads nothing gets no more of the cloud’s memory; its commands are refused with queue_full, and it gets what it can once it reads', async () => {
    raw = await RawRobot.connect(cloud.url, await cloud.register('deaf'));
    raw.deafen();
    const before = rssMb(cloud.process.pid);
    // More than the kernel and the cloud hold of it.
    const data = 'x'.repeat(40_000);
    const command = { interface: 'topic', name: '/a', type: 'std_msgs/msg/String', payload: { data } };
    const answers: Awaited<ReturnType<typeof cloud.call>>[] = [];
    const isRefused = ({ status }: { status: number }) => status !== 201;
    while (!answers.some(isRefused) && answers.length < 2_000) {
      const posts = Array.from({ length: 20 }, () => cloud.call('POST', '/robots/deaf/commands', command));
      answers.push(...(await Promise.all(posts)));
    }
    const accepted = answers.filter(({ status }) => status === 201).length;
    const refused = answers.find(isRefused);
    const growth = rssMb(cloud.process.pid) - before;
    const others = await watch(1_000);
    report('a robot that does not read', { accepted, growth_mb: Math.round(growth), others });
    expect(accepted).toBe(500);
    expect(refused).toMatchObject({ status: 429, body: { error_code: 'queue_full' } });
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(growth).toBeLessThan(GROWTH_MB_MAX);
    expect(raw.endedWith).toBeNull();
    raw.hear();
    await expect.poll(() => raw?.kinds.get('command')).toBe(500);
  });

  it('a cloud that stands still for a while costs the agent no memory, no session and no sample', async () => {
    const before = rssMb(agent.process.pid);
    const sessions = () => agent.process.lines.filter(({ msg }) => msg === 'connected').length;
    const had = sessions();
    cloud.process.signal('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    const growth = rssMb(agent.process.pid) - before;
    cloud.process.signal('SIGCONT');
    expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
    report('a cloud that stood still for 10 s', { agent_growth_mb: Math.round(growth) });
    expect(growth).toBeLessThan(GROWTH_MB_MAX);
    expect(sessions()).toBe(had);
    const continuedMs = Date.now();
    await cloud.until<Point[]>(
      '/robots/rover-1/data?source=/counter&limit=1',
      ([newest]) => Date.parse(newest?.stamp ?? '') > continuedMs,
    );
    const points = await cloud.get<Point[]>('/robots/rover-1/data?source=/counter&limit=1000');
    const values = points.map(({ payload }) => payload.data);
    expect(values.every((value, at) => at === 0 || value === (values[at - 1] ?? 0) - 1)).toBe(true);
  });
});
