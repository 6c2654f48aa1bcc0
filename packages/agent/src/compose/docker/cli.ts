import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DockerEnv } from './docker-env.js';
import { EngineUnavailableError } from './engine-error.js';
import { endLeftovers } from './leftovers.js';

/** How long a program that was asked to end may take before it is killed. */
const END_MS_MAX = 2_000;
/** Of what a program prints, the end is kept. */
const WORDS_MAX = 64 * 1024;
/** A document in its normal form may be longer than as it came. */
const STDOUT_BYTES_MAX = 16 * 1024 * 1024;

/** How a run of `docker compose` ended. */
export type CliEnd =
  /** `stdout`: null where it is larger than 16 MiB. */
  | { readonly kind: 'succeeded'; readonly stdout: string | null; readonly words: string }
  /** `words`: the end of what it said, both outputs. */
  | { readonly kind: 'failed'; readonly words: string };

const MISSING_REMEDY = 'install docker-compose-v2 (Ubuntu), or docker-ce-cli and docker-compose-plugin (Docker)';

export interface CliOptions {
  /** Absolute; where documents are and compose works. This agent's own: runs left over by one that was killed are known by it. */
  readonly directory: string;
  readonly project: string;
  readonly env: DockerEnv;
}

export interface RunOptions {
  /** Compose files, each overriding those before it; none: the project as the engine knows it. */
  readonly files?: readonly string[];
  /** Ends the run, and with it every process that it started. */
  readonly signal?: AbortSignal;
  /** A run that takes longer is ended like that, too. */
  readonly msMax?: number;
}

/** The run has taken longer than it may; all its processes are gone. */
export class CliLateError extends Error {
  override readonly name = 'CliLateError';
  constructor(msMax: number) {
    super(`docker compose has not ended within ${msMax / 1000} s`);
  }
}

/** The run was ended by its signal; all its processes are gone. */
export class CliAbortedError extends Error {
  override readonly name = 'CliAbortedError';
  constructor() {
    super('docker compose was ended');
  }
}

/**
 * Runs `docker compose` for one project, with the environment that documents may see and no file but those given: its
 * directory is empty, there is no .env.
 */
export class ComposeCli {
  readonly #options: CliOptions;

  constructor(options: CliOptions) {
    this.#options = options;
  }

  get project(): string {
    return this.#options.project;
  }

  get directory(): string {
    return this.#options.directory;
  }

  /** The empty directory that relative paths of a document begin at. */
  get projectDirectory(): string {
    return join(this.#options.directory, 'project');
  }

  /** Arguments by which a run of this agent's is known. */
  get #mark(): readonly string[] {
    return ['--project-directory', this.projectDirectory];
  }

  /**
   * @param args from the command on: `['up', '--detach']`.
   * @throws CliAbortedError, CliLateError, EngineUnavailableError where there is no docker program in the PATH or no compose plugin, or the system's
   * error where nothing can be started.
   */
  async run(args: readonly string[], { files = [], signal, msMax }: RunOptions = {}): Promise<CliEnd> {
    if (signal?.aborted) throw new CliAbortedError();
    const { env, project } = this.#options;
    const cwd = this.projectDirectory;
    mkdirSync(cwd, { recursive: true, mode: 0o700 });
    const global = ['--ansi', 'never', '--progress', 'plain', '--env-file', '/dev/null'];
    const at = [...this.#mark, '--project-name', project, ...files.flatMap((file) => ['--file', file])];
    // A group of its own: a terminal's Ctrl-C is for the agent, which ends this in its own way.
    const child = spawn('docker', ['compose', ...global, ...at, ...args], {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const closed = new AbortController();
    let isLate = false;
    const onAbort = () => void this.#end(child, closed.signal);
    const onLate = () => {
      isLate = true;
      onAbort();
    };
    const timer = msMax === undefined ? undefined : setTimeout(onLate, msMax);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const end = await ended(child);
      if (signal?.aborted || isLate) {
        await this.endLeftovers();
        throw signal?.aborted ? new CliAbortedError() : new CliLateError(msMax ?? 0);
      }
      return end;
    } finally {
      clearTimeout(timer);
      closed.abort();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Ends what an agent that was killed has left running, and waits until it is gone: it would go on changing containers. */
  async endLeftovers(): Promise<number> {
    return await endLeftovers(this.#mark);
  }

  /** @param closed aborted when no process has its outputs any more. */
  async #end(child: ChildProcess, closed: AbortSignal): Promise<void> {
    signalGroup(child, 'SIGTERM');
    await sleep(END_MS_MAX, undefined, { ref: false, signal: closed }).catch(() => {});
    // Also where docker itself has ended: its plugin may go on, and hold the outputs.
    if (!closed.aborted) signalGroup(child, 'SIGKILL');
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Gone by itself meanwhile.
  }
}

function ended(child: ChildProcess): Promise<CliEnd> {
  const stdout: Buffer[] = [];
  let stdoutBytes = 0;
  let words = '';
  const said = (data: Buffer) => {
    words = (words + data.toString()).slice(-WORDS_MAX);
  };
  child.stdout?.on('data', (data: Buffer) => {
    stdoutBytes += data.byteLength;
    if (stdoutBytes <= STDOUT_BYTES_MAX) stdout.push(data);
    said(data);
  });
  child.stderr?.on('data', said);
  return new Promise((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT' && error.code !== 'EACCES') return reject(error);
      reject(new EngineUnavailableError(`there is no docker program in the PATH: ${MISSING_REMEDY}`));
    });
    // Not `exit`: what was said last is still to be read.
    child.on('close', (code) => {
      if (code === 0) {
        const text = stdoutBytes <= STDOUT_BYTES_MAX ? Buffer.concat(stdout).toString() : null;
        return resolve({ kind: 'succeeded', stdout: text, words: words.trim() });
      }
      if (hasNoCompose(words)) {
        return reject(new EngineUnavailableError(`docker has no compose plugin: ${MISSING_REMEDY}`));
      }
      resolve({ kind: 'failed', words: words.trim() || `docker compose ended with ${code ?? child.signalCode}` });
    });
  });
}

/** Without the plugin, docker takes `compose` for an unknown command or our options for its own. */
function hasNoCompose(words: string): boolean {
  return /'compose' is not a docker command|unknown (docker )?command:? "?(docker )?compose|^unknown (shorthand )?flag: '?--(ansi|progress)/m.test(
    words,
  );
}
