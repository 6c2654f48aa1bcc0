import { RELEASE_DATE } from '@drover/shared/release';
import { nearestName } from '@drover/shared/ros/describe-value';
import { Command } from 'commander';
import { type Logger, pino } from 'pino';
import { startAgent } from './agent.js';
import { ConfigError, loadConfig } from './config.js';
import { DataDirUnusableError } from './disk/data-dir.js';
import { DataDirBusyError } from './disk/instance-lock.js';
import { runDoctor } from './doctor/doctor.js';
import { RclnodejsUnavailableError } from './ros/rclnodejs/load.js';
import { misspelt, settingsHelp } from './settings.js';
import { readSupervision, startBeats } from './supervisor/supervisor.js';

/** What a supervisor should not try again by itself (EX_CONFIG of sysexits.h). */
const EXIT_CONFIG = 78;
/** A defect, which the supervisor answers by a new start (EX_SOFTWARE; bin/drover-agent knows it). */
const EXIT_DEFECT = 70;
/** A stop that takes longer is cut off. */
const STOP_MS_MAX = 4_500;

const stopping = new AbortController();

const program = new Command('drover-agent')
  .description('Joins a robot and its ROS 2 graph to a Drover cloud.')
  .version(RELEASE_DATE)
  .addHelpText('after', `\n${settingsHelp()}`)
  // Else the argument below is named beside the commands, as a second one.
  .usage('[options] [command]')
  .argument('[command]', 'nothing to run the agent')
  .action((command?: string) => (command === undefined ? run() : program.error(unknownCommand(command))));
program
  .command('doctor')
  .description(
    'checks settings, policy, cloud, token, clock, ROS, disk, Docker and compose, and says what to do about each',
  )
  .action(async () => {
    const clocks = { now: Date.now, monotonicNow: () => performance.now() };
    const output = { out: console.log, colours: process.stdout.isTTY ?? false };
    process.exitCode = await runDoctor({ env: process.env, ...clocks, ...output });
  });
await program.parseAsync();

async function run(): Promise<void> {
  // What the agent writes (commands, data, desired state) is nobody else's on this machine.
  process.umask(0o077);
  // Synchronous: else the last lines of a process that dies are lost, and they say why it died.
  const log = pino({ base: null }, pino.destination({ sync: true }));
  try {
    const config = loadConfig(process.env);
    log.level = config.logLevel;
    for (const words of misspelt(process.env)) log.warn(words);
    process.on('uncaughtException', (error) => die(log, error));
    const supervision = readSupervision(process.env);
    const agent = startAgent(config, supervision.previousEnd, log, stopping.signal);
    process.on('SIGTERM', () => stop(log, agent));
    process.on('SIGINT', () => stop(log, agent));
    await agent;
    if (supervision.beatsFile) startBeats(supervision.beatsFile);
  } catch (error) {
    // Stopped before it had started: stop() ends the process.
    if (stopping.signal.aborted) return;
    if (error instanceof DataDirBusyError || error instanceof DataDirUnusableError) {
      console.error(`drover-agent can't start: ${error.message}`);
      process.exit(1);
    }
    if (error instanceof RclnodejsUnavailableError) {
      console.error(`drover-agent can't start: ${error.message}`);
      process.exit(EXIT_CONFIG);
    }
    if (!(error instanceof ConfigError)) return die(log, error);
    const wrong = [error.message, ...misspelt(process.env)].join('\n');
    console.error(`drover-agent can't start; these settings are wrong (drover-agent --help):\n${wrong}`);
    process.exit(EXIT_CONFIG);
  }
}

function unknownCommand(command: string): string {
  const near = nearestName(
    command,
    program.commands.map((known) => known.name()),
  );
  return `drover-agent has no command ${command}${near === null ? '' : `; did you mean ${near}?`}`;
}

async function stop(log: Logger, agent: ReturnType<typeof startAgent>): Promise<void> {
  // The signal may come twice: once from the supervisor, once to the group.
  if (stopping.signal.aborted) return;
  stopping.abort();
  setTimeout(() => die(log, new Error('the agent did not stop in time')), STOP_MS_MAX).unref();
  const started = await agent.catch(() => null);
  await started?.stop();
  log.info('agent stopped');
  process.exit(0);
}

/** Nothing here is fit to go on: what is on disk is safe, and the supervisor starts us anew. */
function die(log: Logger, error: unknown): never {
  log.fatal({ err: error }, error instanceof Error ? error.message : 'the agent failed');
  process.exit(EXIT_DEFECT);
}
