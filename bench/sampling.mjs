// What keeping one message a second of a topic at 1 kHz costs the agent, beside the cheapest way known in the same run:
//
//   node bench/sampling.mjs [--seconds 10] [--settle 4] [--distro kilted] [--json]      (after npm run build)
//
// The publisher is rclpy, std_msgs/msg/String, reliable. "bare" are scripts that only subscribe, by rclnodejs, on a lean
// node that is never spun and polled on a timer; "spun" is an ordinary rclnodejs subscription. Figures are CPU of a process,
// user and system, all threads, in percent of one core.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { rosEnvironment } from '../scripts/ros/setup.mjs';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const DOMAIN = '33';
const TOPIC = '/fast';
/** Of /proc: USER_HZ is 100 wherever Node runs on Linux. */
const TICKS_PER_S = 100;

const PUBLISHER = `
import rclpy, rclpy.executors, std_msgs.msg
rclpy.init()
node = rclpy.create_node('fast')
publisher = node.create_publisher(std_msgs.msg.String, '${TOPIC}', 10)
message = std_msgs.msg.String(data='x' * 100)
node.create_timer(0.001, lambda: publisher.publish(message))
print('ready', flush=True)
try:
    rclpy.spin(node)
except rclpy.executors.ExternalShutdownException:
    pass
`;

/** How a bare script reads the topic. */
const BARE = {
  'bare, nothing subscribed': null,
  'bare, polled at 1 Hz, depth 1': { hz: 1, depth: 1, raw: false },
  'bare, drained at 20 Hz, depth 5, raw': { hz: 20, depth: 5, raw: true },
  'spun, deserialised': { spun: true },
};

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    settle: { type: 'string', default: '4' },
    distro: { type: 'string' },
    json: { type: 'boolean', default: false },
    bare: { type: 'string' },
  },
});
const SETTLE_MS = Number(values.settle) * 1000;
await (values.bare === undefined ? main() : bare(BARE[values.bare]));

async function main() {
  const { env: ros, distro, python } = await rosEnvironment({ distro: values.distro });
  const env = { ...ros, ROS_DOMAIN_ID: DOMAIN, ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST' };
  const { LD_PRELOAD: _, ...pythonEnv } = env;
  const publisher = await started(python, ['-c', PUBLISHER], pythonEnv, 'ready');
  const rows = {};
  try {
    for (const name of Object.keys(BARE)) {
      const script = await started(process.execPath, [fileURLToPath(import.meta.url), '--bare', name], env, 'ready');
      rows[name] = await cpuOf(script);
      await ended(script);
    }
    Object.assign(rows, await agent(env));
  } finally {
    await ended(publisher);
  }
  if (values.json) {
    console.log(JSON.stringify({ distro, rows }));
    return;
  }
  console.log(`${TOPIC}: String at 1 kHz, 1 Hz kept, ROS 2 ${distro}; CPU in % of a core over ${values.seconds} s`);
  for (const [name, cpu] of Object.entries(rows)) console.log(`${cpu.toFixed(1).padStart(6)}  ${name}`);
  const added = rows['agent, streaming at 1 Hz'] - rows['agent, no stream'];
  const least = rows['bare, polled at 1 Hz, depth 1'] - rows['bare, nothing subscribed'];
  console.log(
    `the stream adds ${added.toFixed(1)}; bare polling adds ${least.toFixed(1)}; ratio ${(added / least).toFixed(2)}`,
  );
}

async function agent(env) {
  const data = mkdtempSync(join(tmpdir(), 'drover-sampling-'));
  const key = 'drk_bench-of-sampling-only';
  const settings = { DROVER_PORT: '0', DROVER_API_KEY: key, DROVER_DATA_DIR: join(data, 'cloud') };
  const cloud = await started(process.execPath, [bin('cloud')], { ...env, ...settings }, '"msg":"listening"');
  let robot;
  try {
    const url = JSON.parse(cloud.firstLine).url;
    const call = async (method, path, body) => {
      const headers = { 'svc-api-key': key, 'content-type': 'application/json' };
      const answer = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
      return await answer.json();
    };
    const { token } = await call('POST', '/robots', { id: 'bench' });
    const own = { DROVER_URL: url, DROVER_TOKEN: token, DROVER_DATA_DIR: join(data, 'agent'), DROVER_ROS: 'rclnodejs' };
    robot = await started(process.execPath, [bin('agent')], { ...env, ...own, DROVER_CONFIG: '' }, '');
    while (!(await call('GET', '/robots/bench')).online) await setTimeout(100);
    const without = await cpuOf(robot);
    await call('POST', '/robots/bench/streams', { source: TOPIC, type: 'std_msgs/msg/String', hz: 1 });
    const recordings = async () => (await call('GET', '/robots/bench/streams'))[0].num_recordings;
    while ((await recordings()) === 0) await setTimeout(100);
    const before = await recordings();
    const streaming = await cpuOf(robot);
    console.error(
      `the agent recorded ${(await recordings()) - before} samples in ${SETTLE_MS / 1000 + Number(values.seconds)} s`,
    );
    return { 'agent, no stream': without, 'agent, streaming at 1 Hz': streaming };
  } finally {
    if (robot) await ended(robot);
    await ended(cloud);
    rmSync(data, { recursive: true, force: true });
  }
}

function bin(program) {
  return join(checkout, `packages/${program}/bin/drover-${program}.js`);
}

/** A process that has printed a line with `words`. */
async function started(command, args, env, words) {
  const child = spawn(command, args, { env, cwd: checkout, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`${command} ${args.join(' ').slice(0, 100)} ended with ${code}`);
  });
  gone.catch(() => {});
  const said = new Promise((resolve) => {
    lines.on('line', (line) => line.includes(words) && resolve(line));
  });
  return Object.assign(child, { firstLine: await Promise.race([said, gone]) });
}

async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** CPU of a process over the window, once it has settled, in percent of a core. */
async function cpuOf({ pid }) {
  await setTimeout(SETTLE_MS);
  const [ticks, atMs] = [ticksOf(pid), performance.now()];
  await setTimeout(Number(values.seconds) * 1000);
  return ((ticksOf(pid) - ticks) / TICKS_PER_S / ((performance.now() - atMs) / 1000)) * 100;
}

function ticksOf(pid) {
  // The name may hold spaces; what follows its parenthesis does not.
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) /);
  const fields = rest.split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

async function bare(how) {
  const rcl = createRequire(import.meta.url)(process.env.DROVER_RCLNODEJS || 'rclnodejs');
  await rcl.init();
  const lean = { startParameterServices: false, startTypeDescriptionService: false, enableRosout: false };
  const node = how?.spun ? new rcl.Node('bare') : new rcl.Node('bare', '', undefined, lean);
  let last = '';
  const received = (message) => {
    last = message;
  };
  if (how?.spun) {
    node.createSubscription('std_msgs/msg/String', TOPIC, received);
    node.spin();
  } else if (how) {
    const qos = new rcl.QoS(rcl.QoS.HistoryPolicy.RMW_QOS_POLICY_HISTORY_KEEP_LAST, how.depth);
    node.createSubscription('std_msgs/msg/String', TOPIC, { qos, isRaw: how.raw }, received);
    setInterval(() => {
      for (let taken = 0; taken < how.depth; taken += 1) node.spinOnce(0);
    }, 1000 / how.hz);
  }
  // What it is there for: one sample a second.
  setInterval(() => JSON.stringify(last), 1000);
  console.log('ready');
}
