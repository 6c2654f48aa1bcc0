import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { TestAgent } from '../support/agent.js';
import { TestCloud } from '../support/cloud.js';
import { LinkProxy } from '../support/link-proxy.js';
import { FREE } from '../support/proxy-wire.js';

const run = promisify(execFile);

/**
 * The way from robots to a cloud. In `npm test` a proxy on loopback; in `npm run network`, as root on Linux, a router of its own between two network
 * namespaces, where a cut drops packets in silence and a rate is the kernel's (tbf).
 */
export interface Line {
  /** The cloud, as seen from the robots. */
  readonly url: string;
  /** What a robot's command begins with, so that it runs at the line's other end. */
  readonly within: readonly string[];
  /** What an agent must be told of this line. */
  readonly env: Record<string, string>;
  /** Nothing passes any more; nobody is told. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** In both directions; without a rate, as fast as it goes. */
  slow(bytesPerS?: number): Promise<void>;
  /** Sent up to the cloud so far. */
  bytesUp(): Promise<number>;
  close(): Promise<void>;
}

/** Set by scripts/network.mjs, inside the cloud's namespace: what the names of the three begin with. */
const prefix = process.env.DROVER_TEST_NETNS;
const CLOUD_ADDRESS = '10.77.2.2';

/** A cloud that the line can reach. */
export function startCloud(env: Record<string, string> = {}): Promise<TestCloud> {
  return TestCloud.start(prefix ? { DROVER_HOST: '0.0.0.0', ...env } : env);
}

export async function openLine(cloud: TestCloud): Promise<Line> {
  return prefix ? namespaceLine(prefix, cloud) : await proxyLine(cloud);
}

/** An agent on the simulated graph at the far end of the line. */
export function agentAt(line: Line, token: string, env: Record<string, string> = {}): Promise<TestAgent> {
  return TestAgent.start({ url: line.url, token, env: { ...line.env, ...env }, within: line.within });
}

async function proxyLine(cloud: TestCloud): Promise<Line> {
  const proxy = await LinkProxy.start(cloud.url);
  return {
    url: proxy.url,
    within: [],
    env: {},
    cut: async () => proxy.stall(),
    mend: async () => proxy.mend(),
    // 50 ms of way in each direction, as a radio link has.
    slow: async (bytesPerS) => proxy.shape(bytesPerS === undefined ? FREE : { bytesPerS, delayMs: 50 }),
    bytesUp: async () => proxy.bytes('up'),
    close: () => proxy.stop(),
  };
}

function namespaceLine(names: string, cloud: TestCloud): Line {
  const router = async (...command: string[]) =>
    (await run('ip', ['netns', 'exec', `${names}-line`, ...command])).stdout;
  const forward = (on: boolean) => router('sh', '-c', `echo ${on ? 1 : 0} > /proc/sys/net/ipv4/ip_forward`);
  const shape = async (device: string, bytesPerS: number | undefined) => {
    if (bytesPerS === undefined) {
      await router('tc', 'qdisc', 'del', 'dev', device, 'root').catch(() => {});
      return;
    }
    // The router holds up to 64 KiB, as cheap modems do: eight seconds at 64 kbit/s for who lets it fill.
    const rate = ['rate', `${bytesPerS * 8}bit`, 'burst', '3200', 'limit', '65536'];
    await router('tc', 'qdisc', 'replace', 'dev', device, 'root', 'tbf', ...rate);
  };
  return {
    url: `http://${CLOUD_ADDRESS}:${new URL(cloud.url).port}`,
    within: ['ip', 'netns', 'exec', `${names}-robots`],
    env: { DROVER_ALLOW_INSECURE: '1' },
    cut: async () => void (await forward(false)),
    mend: async () => void (await forward(true)),
    slow: async (bytesPerS) => {
      await shape('to-cloud', bytesPerS);
      await shape('to-robots', bytesPerS);
    },
    bytesUp: async () => {
      const [link] = JSON.parse(await router('ip', '-s', '-j', 'link', 'show', 'to-cloud')) as [
        { stats64: { tx: { bytes: number } } },
      ];
      return link.stats64.tx.bytes;
    },
    close: async () => {
      await forward(true);
      await shape('to-cloud', undefined);
      await shape('to-robots', undefined);
    },
  };
}
