import { composeSummary } from '../policy/compose-file.js';
import { Policy } from '../policy/policy.js';
import type { RobotPolicy } from '../policy/policy-file.js';
import { rosIsSourced } from '../ros/rclnodejs/load.js';
import { type Check, type CheckResult, type Finding, notChecked, runCheck } from './check.js';
import { checkClock } from './clock.js';
import { checkCloud } from './cloud.js';
import { readSettings, type UsableSettings } from './configuration.js';
import { checkDisk } from './disk.js';
import { checkCompose, checkDocker } from './docker.js';
import { askHealthz } from './healthz.js';
import { reportLines } from './report.js';
import { checkRos } from './ros.js';
import { checkRunningAgent } from './running-agent.js';
import { checkToken } from './token.js';

/** The checks bound what they wait for themselves, at less than this: their words are the better ones. */
const TIMEOUT_MS = 5_000;
/** On a small machine rclnodejs takes seconds to load, and looking around takes up to 2.5 s more. */
const ROS_TIMEOUT_MS = 15_000;

export interface DoctorOptions {
  /** As the agent would get it: settings, ROS, PATH, DOCKER_*. */
  readonly env: NodeJS.ProcessEnv;
  /** Takes the report, a line at a time, without line breaks. */
  readonly out: (line: string) => void;
  /** The robot's wall clock, milliseconds. */
  readonly now: () => number;
  /** Milliseconds on a clock that never jumps. */
  readonly monotonicNow: () => number;
  /** Whether the output can show colours; NO_COLOR in the environment switches them off. */
  readonly colours: boolean;
}

/**
 * Examines this machine as the agent would use it: the checks side by side, the report in their order. Changes nothing
 * that lasts and leaves a running agent alone.
 * @returns the exit code: 1 where anything failed.
 */
export async function runDoctor(options: DoctorOptions): Promise<0 | 1> {
  const { env, out, colours } = options;
  const { settings, findings } = readSettings(env);
  const configuration = findings.map((finding): CheckResult => ({ name: 'config', ...finding }));
  const results = [...configuration, ...(await Promise.all(checks(settings, options).map(runCheck))).flat()];
  for (const line of reportLines(results, colours && !env.NO_COLOR)) out(line);
  return results.some(({ status }) => status === 'fail') ? 1 : 0;
}

function policyFindings({ rules, compose }: RobotPolicy): readonly Finding[] {
  return [
    { status: 'ok', message: `what the cloud may do: ${new Policy(rules).summary()}` },
    { status: 'ok', message: `what deployments may do: ${composeSummary(compose)}` },
  ];
}

function checks(settings: UsableSettings, options: DoctorOptions): Check[] {
  const { unread, address, token, ros, dataDir, policy, project } = settings;
  const { env, now, monotonicNow } = options;
  const health = address && askHealthz(address.httpUrl, now);
  const without = async (setting: string): Promise<readonly Finding[]> =>
    notChecked(unread ? 'the settings are not usable (see config)' : `${setting} is not usable (see config)`);
  const needed = { timeoutMs: TIMEOUT_MS, severity: 'fail' } as const;
  const useful = { timeoutMs: TIMEOUT_MS, severity: 'warn' } as const;
  return [
    {
      name: 'policy',
      ...useful,
      run: async () => (policy === null ? without('the policy') : policyFindings(policy)),
    },
    { name: 'cloud', ...needed, run: async () => (health ? checkCloud(health) : without('the address')) },
    {
      name: 'token',
      ...needed,
      run: async (signal) => {
        if (!address || !health) return await without('the address');
        if (!token) return await without('the token');
        return await checkToken({ linkUrl: address.linkUrl, token, health, now, signal });
      },
    },
    { name: 'clock', ...useful, run: async () => (health ? checkClock(health) : without('the address')) },
    {
      name: 'ros',
      timeoutMs: ROS_TIMEOUT_MS,
      severity: 'fail',
      // Where ROS is not sourced, what can't be read may have said that it is not wanted.
      run: async (signal) => (unread && !rosIsSourced(env) ? without('the choice of ROS') : checkRos(ros, env, signal)),
    },
    {
      name: 'disk',
      ...needed,
      run: async () => (dataDir === null ? without('the data directory') : checkDisk(dataDir, monotonicNow)),
    },
    {
      name: 'agent',
      ...useful,
      run: async () => (dataDir === null ? without('the data directory') : checkRunningAgent(dataDir)),
    },
    { name: 'docker', ...useful, run: (signal) => checkDocker(env, signal) },
    { name: 'compose', ...useful, run: (signal) => checkCompose(env, project, signal) },
  ];
}
