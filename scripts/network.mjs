// `npm run network -- [storm] [slow] [outage] …`: the tests of test/network in their long forms (500 robots, an hour's data), on
// a real line: cloud and robots in network namespaces of their own with a router between, whose forwarding is the cable
// and whose token bucket is the modem. Linux, root, iproute2. The short forms run in `npm test` through a proxy.
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const names = `drover${process.pid}`;
const [cloud, line, robots] = [`${names}-cloud`, `${names}-line`, `${names}-robots`];

const ip = (...args) => {
  const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr?.trim() || 'is iproute2 installed?'}`);
};

try {
  process.exitCode = await main();
} finally {
  for (const name of [cloud, line, robots]) spawnSync('ip', ['netns', 'del', name]);
}

async function main() {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    console.error(
      'npm run network needs Linux and root, for its network namespaces; npm test runs the short forms without',
    );
    return 1;
  }
  const built = spawnSync(process.execPath, [join(checkout, 'node_modules/typescript/bin/tsc'), '-b'], {
    cwd: checkout,
    stdio: 'inherit',
  });
  if (built.status !== 0) return built.status ?? 1;
  for (const name of [cloud, line, robots]) {
    ip('netns', 'add', name);
    ip('-n', name, 'link', 'set', 'lo', 'up');
  }
  joinUp(robots, 'to-robots', '10.77.1');
  joinUp(cloud, 'to-cloud', '10.77.2');
  ip('netns', 'exec', line, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
  const wanted = process.argv.slice(2);
  const files = (wanted.length > 0 ? wanted : ['']).map((word) => `test/network/${word}`);
  const vitest = [join(checkout, 'node_modules/vitest/vitest.mjs'), 'run', '--no-file-parallelism', ...files];
  const child = spawn('ip', ['netns', 'exec', cloud, process.execPath, ...vitest], {
    cwd: checkout,
    stdio: 'inherit',
    env: {
      ...process.env,
      DROVER_TEST_NETNS: names,
      DROVER_TEST_ROBOTS: process.env.DROVER_TEST_ROBOTS ?? '500',
      DROVER_TEST_OUTAGE_S: process.env.DROVER_TEST_OUTAGE_S ?? '60',
      DROVER_TEST_OUTAGE_MINUTES: process.env.DROVER_TEST_OUTAGE_MINUTES ?? '60',
      DROVER_TEST_SLOW_S: process.env.DROVER_TEST_SLOW_S ?? '180',
      DROVER_TEST_LONG: '1',
    },
  });
  process.on('SIGINT', () => {});
  return await new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}

/** A namespace's only way out is through the router. */
function joinUp(name, device, network) {
  ip('link', 'add', device, 'netns', line, 'type', 'veth', 'peer', 'name', 'out', 'netns', name);
  ip('-n', line, 'addr', 'add', `${network}.1/24`, 'dev', device);
  ip('-n', name, 'addr', 'add', `${network}.2/24`, 'dev', 'out');
  ip('-n', line, 'link', 'set', device, 'up');
  ip('-n', name, 'link', 'set', 'out', 'up');
  ip('-n', name, 'route', 'add', 'default', 'via', `${network}.1`);
}
