// Child processes of the ROS set-up: output kept for the error, a plain message when one fails.
import { spawn } from 'node:child_process';
import { accessSync, constants, createWriteStream } from 'node:fs';
import { delimiter, join } from 'node:path';

/** What the set-up lacks, in words that say what to do about it. */
export class SetupError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = 'SetupError';
  }
}

/** Lines of a failed command's output that its error shows; the whole is in the log file. */
const TAIL_LINES = 25;

/**
 * Runs a command to its end, its output appended to `logFile`.
 * @returns its stdout. @throws SetupError with the end of its output.
 */
export async function run(command, args, { env = process.env, cwd, logFile, what }) {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const log = logFile === undefined ? undefined : createWriteStream(logFile, { flags: 'a' });
  log?.write(`\n$ ${command} ${args.join(' ')}\n`);
  let stdout = '';
  let output = '';
  const keep = (chunk) => {
    output = (output + chunk).slice(-64 * 1024);
    log?.write(chunk);
  };
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    stdout += chunk;
    keep(chunk);
  });
  child.stderr.setEncoding('utf8').on('data', keep);
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exit, signal) => resolve(exit ?? signal));
  }).finally(() => log?.end());
  if (code === 0) return stdout;
  const tail = output.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
  throw new SetupError(`${what} failed (${command} ended with ${code})${logFile ? `, see ${logFile}` : ''}:\n${tail}`, {
    cause: output,
  });
}

/** The full path of a command on `env.PATH`, or undefined. */
export function onPath(command, env = process.env) {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    if (folder === '') continue;
    const file = join(folder, command);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // not here
    }
  }
  return undefined;
}

/** `env` without what npm and node-gyp of an outer `npm run` put there: it would steer an inner `npm install` back into the checkout. */
export function withoutNpmRun(env) {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name]) =>
        !/^npm_(package|lifecycle|config_(local_prefix|workspace|global))|^npm_command$|^INIT_CWD$/i.test(name),
    ),
  );
}
