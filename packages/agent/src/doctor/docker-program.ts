import { execFile } from 'node:child_process';
import { dockerEnv } from '../compose/docker/docker-env.js';
import { errorCode } from './check.js';

const OUTPUT_BYTES_MAX = 64 * 1024;

/** How a program ended; `missing` where there is none of that name in the PATH, or none that may be run. */
export type ProgramEnd =
  | { readonly kind: 'succeeded'; readonly stdout: string }
  | { readonly kind: 'failed'; readonly words: string }
  | { readonly kind: 'missing' };

type Environment = Readonly<Record<string, string | undefined>>;

/** Runs `docker` with the environment that deployments get. @throws AbortError where the signal ends it. */
export function runDocker(args: readonly string[], env: Environment, signal: AbortSignal): Promise<ProgramEnd> {
  const options = {
    env: dockerEnv(env),
    signal,
    killSignal: 'SIGKILL',
    maxBuffer: OUTPUT_BYTES_MAX,
  } as const;
  return new Promise((resolve, reject) => {
    execFile('docker', args, options, (error, stdout, stderr) => {
      if (error === null) return resolve({ kind: 'succeeded', stdout: stdout.trim() });
      if (signal.aborted) return reject(error);
      const code = errorCode(error);
      if (code === 'ENOENT' || code === 'EACCES') return resolve({ kind: 'missing' });
      resolve({ kind: 'failed', words: firstLine(stderr) || firstLine(stdout) || error.message });
    });
  });
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}
