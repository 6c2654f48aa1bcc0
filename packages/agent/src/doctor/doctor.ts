import { pino } from 'pino';
import { type Config, ConfigError, loadConfig } from '../config.js';
import { checkCloud, checkToken } from './cloud-checks.js';
import { type Finding, fail } from './finding.js';
import { checkDisk, checkDocker, checkRos } from './machine-checks.js';

/**
 * Examines this machine as the agent would use it and prints a line a finding, as they come. ROS comes last: a broken
 * ROS installation may end the process.
 * @returns whether nothing failed.
 */
export async function examine(
  env: Readonly<Record<string, string | undefined>>,
  print: (line: string) => void,
): Promise<boolean> {
  let healthy = true;
  const report = (findings: readonly Finding[]) => {
    for (const finding of findings) {
      healthy &&= finding.status !== 'fail';
      print(`${finding.status.padEnd(4)}  ${finding.subject.padEnd(8)} ${finding.message}`);
      if (finding.remedy !== null) print(`${' '.repeat(15)}-> ${finding.remedy}`);
    }
  };
  const config = settings(env, report);
  if (config) {
    report(await checkCloud(config, Date.now));
    report([await checkToken(config)]);
    report(checkDisk(config));
  }
  report(await checkDocker());
  if (config) report([await checkRos(config, pino({ level: 'silent' }))]);
  return healthy;
}

function settings(
  env: Readonly<Record<string, string | undefined>>,
  report: (found: Finding[]) => void,
): Config | null {
  try {
    return loadConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    report(error.problems.map(({ field, message }) => fail('settings', `${field}: ${message}`, 'drover-agent --help')));
    return null;
  }
}
