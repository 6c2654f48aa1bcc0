// The demo: a cloud on SQLite and three agents on simulated robots, as separate processes, just as they run for real.
// Its data (API key, tokens, databases) stays in .demo/ of the checkout, so that a second run goes on with the same key.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const dataDir = process.env.DROVER_DEMO_DIR || join(checkout, '.demo');
const port = process.env.DROVER_PORT || '8080';
const robotIds = ['rover-1', 'rover-2', 'rover-3'];

/** What ended by itself is started again after this long. */
const RESTART_MS = 1_000;

/** By name: what runs, or did last. */
const children = new Map();
let stopping = false;
let failed = false;

process.on('SIGINT', stop);
process.on('SIGTERM', stop);

console.log('Building …');
try {
  execFileSync(process.execPath, [join(checkout, 'node_modules/typescript/bin/tsc'), '-b'], {
    cwd: checkout,
    stdio: 'inherit',
  });
} catch {
  console.error('The build failed; the lines above say where. After a fresh clone, run `npm ci` first.');
  process.exit(1);
}
try {
  await run();
} catch (error) {
  if (!stopping) {
    failed = true;
    console.error(`\nThe demo could not start: ${error.message}`);
    await stop();
  }
}

async function run() {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const again = existsSync(file('api-key'));
  const apiKey = secret('api-key', () => `drk_${randomBytes(24).toString('base64url')}`);
  const url = await startCloud(apiKey);
  const api = client(url, apiKey);
  for (const id of robotIds) await startAgent(api, url, id);
  for (const id of robotIds) await online(api, id);
  await oncePerStore(api, `/robots/${robotIds[0]}/streams`, { source: '/odom', type: 'nav_msgs/msg/Odometry', hz: 2 });
  const goal = await api('POST', `/robots/${robotIds[0]}/commands`, {
    interface: 'action_send_goal',
    name: '/fibonacci',
    type: 'example_interfaces/action/Fibonacci',
    payload: { order: 5 },
  });
  console.log(words({ url, apiKey, again, goal: goal.body.uuid }));
}

async function startCloud(apiKey) {
  const cloud = start('cloud', {
    DROVER_PORT: port,
    DROVER_DATA_DIR: join(dataDir, 'cloud'),
    DROVER_API_KEY: apiKey,
    DROVER_LOG_LEVEL: 'info',
  });
  const line = await cloud.line((entry) => entry.msg === 'listening');
  if (!line) {
    const says = (words) => cloud.last.some((text) => words.test(text));
    if (says(/another drover-cloud/)) {
      throw new Error(
        `another demo runs on ${dataDir}. Stop it first, or give this one its own: DROVER_DEMO_DIR=/tmp/demo2 DROVER_PORT=8090 npm run demo`,
      );
    }
    throw new Error(
      says(/EADDRINUSE|in use/)
        ? `port ${port} is taken. Stop what listens there, or choose another: DROVER_PORT=8090 npm run demo`
        : `the cloud ended at once. Its last words:\n${cloud.last.join('\n')}`,
    );
  }
  // Started again, it must be where the agents and the printed lines look for it.
  cloud.settings.DROVER_PORT = new URL(line.url).port;
  return line.url;
}

/** Registers the robot (once per store) and starts its agent. */
async function startAgent(api, url, id) {
  const known = existsSync(file(`${id}.token`)) && (await api('GET', `/robots/${id}`)).status === 200;
  if (!known) {
    const created = await api('POST', '/robots', { id });
    if (created.status !== 201) {
      throw new Error(`robot ${id}: ${created.body.message}. To begin anew, delete ${dataDir}`);
    }
    writeFileSync(file(`${id}.token`), created.body.token, { mode: 0o600 });
  }
  start(`agent ${id}`, {
    DROVER_URL: url,
    DROVER_TOKEN_FILE: file(`${id}.token`),
    DROVER_DATA_DIR: join(dataDir, id),
    DROVER_ROS: 'simulated',
    DROVER_CONFIG: '',
    DROVER_LOG_LEVEL: 'warn',
    // One each: the machine's Docker Engine, where it has one, is every robot's.
    DROVER_COMPOSE_PROJECT: `drover-demo-${id.toLowerCase()}`,
  });
}

async function online(api, id) {
  for (let tries = 0; tries < 200; tries += 1) {
    if ((await api('GET', `/robots/${id}`)).body.online) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${id} did not come online within 20 s; its log is in ${dataDir}`);
}

async function oncePerStore(api, path, body) {
  const { status, body: answer } = await api('POST', path, body);
  if (status !== 201 && status !== 409) throw new Error(`POST ${path}: ${answer.message}`);
}

function client(url, apiKey) {
  return async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { 'svc-api-key': apiKey, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
}

/**
 * Starts one of our programs with only the settings given here; its log goes to the data directory. Once `supervised`, it
 * is started again when it ends by itself, as systemd or Docker would.
 */
function start(name, settings) {
  const [program] = name.split(' ');
  const inherited = Object.entries(process.env).filter(([key]) => !key.startsWith('DROVER_'));
  // Node itself, not npx: npx would die of a signal without waiting for its child.
  const child = spawn(process.execPath, [join(checkout, `packages/${program}/bin/drover-${program}.js`)], {
    env: { ...Object.fromEntries(inherited), ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = [];
  const waiting = new Set();
  const entry = { child, last: log, ended: once(child, 'close'), settings };
  children.set(name, entry);
  const logFile = file(`${name.replace(' ', '-')}.log`);
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      writeFileSync(logFile, `${line}\n`, { flag: 'a' });
      log.push(line);
      if (log.length > 20) log.shift();
      for (const check of waiting) check(line);
    });
  }
  // Not at exit: its last words may still be in the pipe.
  child.on('close', (code, signal) => {
    const isExpected = waiting.size > 0 || stopping;
    for (const check of waiting) check(undefined);
    if (isExpected) return;
    console.error(`\n${name} ended (${signal ?? code}) and is started again; its log: ${logFile}`);
    setTimeout(() => stopping || start(name, entry.settings), RESTART_MS);
  });
  entry.line = (matches) =>
    new Promise((resolve) => {
      const check = (line) => {
        const parsed = line === undefined ? undefined : parse(line);
        if (line !== undefined && !(parsed && matches(parsed))) return;
        waiting.delete(check);
        resolve(parsed);
      };
      waiting.add(check);
    });
  return entry;
}

function parse(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

async function stop() {
  if (stopping) return;
  stopping = true;
  if (!failed) console.log('\nStopping …');
  const running = [...children.values()];
  for (const { child } of running) child.kill('SIGTERM');
  await Promise.all(running.map(({ ended }) => ended));
  if (!failed) console.log(`Stopped. The data stays in ${dataDir}; delete that folder to begin anew.`);
  process.exit(failed ? 1 : 0);
}

function file(name) {
  return join(dataDir, name);
}

function secret(name, make) {
  if (!existsSync(file(name))) writeFileSync(file(name), make(), { mode: 0o600 });
  chmodSync(file(name), 0o600);
  return readFileSync(file(name), 'utf8').trim();
}

function words({ url, apiKey, again, goal }) {
  const [robot] = robotIds;
  const curl = (path, body) => {
    const data = body === undefined ? '' : ` -d '${JSON.stringify(body)}'`;
    return `curl -s -H 'svc-api-key: ${apiKey}' -H 'content-type: application/json' '${url}${path}'${data}`;
  };
  return `
Drover is up: one cloud, three simulated robots (${robotIds.join(', ')}).

  API key    ${apiKey}
  Status     ${url}/app
  API        ${url}/docs
  Data       ${dataDir}${again ? ' (kept from the run before)' : ''}

Try it, in another terminal:

  # the robots
  ${curl('/robots')}

  # drive: publish a Twist to /cmd_vel
  ${curl(`/robots/${robot}/commands`, {
    interface: 'topic',
    name: '/cmd_vel',
    type: 'geometry_msgs/msg/Twist',
    payload: { linear: { x: 0.2 }, angular: { z: 0.1 } },
  })}

  # call a service
  ${curl(`/robots/${robot}/commands`, {
    interface: 'service',
    name: '/enable_motors',
    type: 'std_srvs/srv/SetBool',
    payload: { data: true },
  })}

  # the commands of the robot, newest first, and how one ended (an action goal that this demo sent)
  ${curl(`/robots/${robot}/commands?limit=5`)}
  ${curl(`/commands/${goal}/outcome`)}

  # what /odom said, sampled at 2 Hz; the latest vitals; the robot's log
  ${curl(`/robots/${robot}/data?source=/odom&limit=3`)}
  ${curl(`/robots/${robot}/logs?source=%2Fodom&limit=3`)}
  ${curl(`/robots/${robot}/vitals?latest_only=true`)}
  ${curl(`/robots/${robot}/logs?source=%2Frosout&limit=5`)}

Ctrl-C stops all of it.
`;
}
