import { fork } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Config } from '../config.js';
import { rosIsSourced } from '../ros/rclnodejs/load.js';
import type { Finding } from './check.js';
import { type Visit, visitSchema } from './graph-visit.js';

type Environment = NodeJS.ProcessEnv;

/** Where ROS's own packages put it. */
const INSTALLED_IN = '/opt/ros';
const TESTED: readonly string[] = ['jazzy', 'kilted'];
const OUTPUT_CHARS_MAX = 16 * 1024;

/** @param ros null where the settings can't say which graph to join. */
export async function checkRos(
  ros: Config['ros'] | null,
  env: Environment,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (ros === 'simulated') {
    const unused = rosIsSourced(env) ? `; ROS 2 ${env.ROS_DISTRO ?? ''} is sourced but not used` : '';
    return [{ status: 'ok', message: `simulated: a robot inside the agent, no ROS 2 is joined${unused}` }];
  }
  if (!rosIsSourced(env)) return [await notSourced()];
  const place = describe(env);
  const visit = await visitInProcess(env, signal);
  if (visit.kind === 'unavailable') return [{ status: 'fail', message: `${place}: ${visit.message}` }];
  if (visit.kind === 'failed') {
    const remedy = 'check that RMW_IMPLEMENTATION is installed, and ROS_DOMAIN_ID (0 to 232); `ros2 doctor` tells more';
    return [{ status: 'fail', message: `${place}: can't be joined: ${visit.message}`, remedy }];
  }
  const findings: Finding[] = [];
  if (visit.topics === 0) {
    const remedy =
      'is the robot running, with the same ROS_DOMAIN_ID, RMW_IMPLEMENTATION and ROS_AUTOMATIC_DISCOVERY_RANGE as here? ' +
      'compare with `ros2 topic list`';
    findings.push({ status: 'warn', message: `${place}: rclnodejs works, but nobody publishes anything`, remedy });
  } else {
    const topics = `${visit.topics} ${visit.topics === 1 ? 'topic' : 'topics'}`;
    findings.push({ status: 'ok', message: `${place}: rclnodejs works, ${topics} seen` });
  }
  if (env.ROS_DISTRO && !TESTED.includes(env.ROS_DISTRO)) {
    const message = `the agent is tested with ${TESTED.join(' and ')}, not with ${env.ROS_DISTRO}`;
    findings.push({ status: 'warn', message });
  }
  return findings;
}

function describe(env: Environment): string {
  const rmw = env.RMW_IMPLEMENTATION || 'the default RMW';
  const reach = ['ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY', 'ROS_DISCOVERY_SERVER'];
  const set = reach.filter((name) => env[name]).map((name) => `, ${name}=${env[name]}`);
  return `ROS 2 ${env.ROS_DISTRO || '(ROS_DISTRO not set)'}, ${rmw}, domain ${env.ROS_DOMAIN_ID || 0}${set.join('')}`;
}

async function notSourced(): Promise<Finding> {
  const installed = await readdir(INSTALLED_IN).catch(() => []);
  const message = `no ROS 2 is sourced (AMENT_PREFIX_PATH is not set)`;
  const [first] = installed;
  const remedy =
    first === undefined
      ? `install ROS 2 Jazzy and source it, or use DROVER_ROS=simulated for a simulated robot`
      : `installed here: ${installed.join(', ')}; source it before the agent starts: . ${INSTALLED_IN}/${first}/setup.sh`;
  return { status: 'fail', message, remedy };
}

/**
 * Joins ROS in a process of its own: what goes wrong inside ROS may abort the process or block it, and the report of all
 * other checks must not go down with it.
 */
function visitInProcess(env: Environment, signal: AbortSignal): Promise<Visit> {
  // Built output, also when this runs as a source: the path is the same from src/ and from dist/.
  const script = fileURLToPath(new URL('../../dist/doctor/graph-visit-process.js', import.meta.url));
  return new Promise((resolve, reject) => {
    const child = fork(script, { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'], execArgv: [] });
    signal.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
    let words = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        words = (words + chunk).slice(-OUTPUT_CHARS_MAX);
      });
    }
    child.on('error', reject);
    child.on('message', (message) => {
      const visit = visitSchema.safeParse(message);
      resolve(visit.success ? visit.data : { kind: 'failed', message: 'the visit told nothing that makes sense' });
    });
    child.on('close', (code, killed) => {
      const last = words.trim().split('\n').at(-1) ?? '';
      resolve({ kind: 'failed', message: `its process ended with ${killed ?? code}${last === '' ? '' : `: ${last}`}` });
    });
  });
}
