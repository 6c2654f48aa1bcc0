import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Tests run this file as it stands, the benchmarks as it was built. */
const checkout = fileURLToPath(new URL(import.meta.url.includes('/dist/') ? '../../..' : '../..', import.meta.url));

/** A line that a process printed: pino's JSON where it is that, else `{ msg: <the text> }`. */
export interface LogLine {
  msg: string;
  [field: string]: unknown;
}

/**
 * A real process of ours (cloud, agent), started as a user starts it, with its log lines to wait for. Every test ends
 * what it started with `stop` or `kill9`.
 */
export class Running {
  readonly lines: LogLine[] = [];
  readonly #child: ChildProcess;
  readonly #waiters = new Set<() => void>();
  readonly exited: Promise<number | NodeJS.Signals>;
  #ended = false;

  /**
   * @param program `supervised agent`: the agent under its supervisor, which is then the process that is signalled.
   * @param within a command that runs the program in its own place (`ip netns exec …`)
   */
  constructor(
    program: 'cloud' | 'agent' | 'supervised agent',
    args: string[],
    env: Record<string, string>,
    cwd?: string,
    within: readonly string[] = [],
  ) {
    const [command = '', ...first] = [...within, ...commandOf(program)];
    this.#child = spawn(command, [...first, ...args], {
      env: { ...inherited(), ...env },
      cwd: cwd ?? checkout,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.exited = once(this.#child, 'exit').then(([code, signal]) => {
      this.#ended = true;
      this.#wake();
      return code ?? signal;
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => this.#line(line));
    }
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** The first line printed, now or later, that `matches`; rejects with all lines where the process ends before. */
  async line(matches: (line: LogLine) => boolean, since = 0): Promise<LogLine> {
    for (;;) {
      const found = this.lines.slice(since).find(matches);
      if (found) return found;
      if (this.#ended) throw new Error(`the process ended first; it printed:\n${this.text()}`);
      await new Promise<void>((resolve) => this.#waiters.add(resolve));
    }
  }

  text(): string {
    return this.lines.map((line) => JSON.stringify(line)).join('\n');
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#ended) this.#child.kill(signal);
  }

  /** SIGTERM, then the exit code. */
  async stop(): Promise<number | NodeJS.Signals> {
    this.signal('SIGTERM');
    return await this.exited;
  }

  async kill9(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited;
  }

  #line(text: string): void {
    this.lines.push(parse(text));
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiters) wake();
    this.#waiters.clear();
  }
}

function commandOf(program: 'cloud' | 'agent' | 'supervised agent'): [string, ...string[]] {
  if (program === 'supervised agent') return [`${checkout}packages/agent/bin/drover-agent`];
  return [process.execPath, `${checkout}packages/${program}/bin/drover-${program}.js`];
}

function parse(text: string): LogLine {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && 'msg' in value) return value as LogLine;
  } catch {
    // Not JSON: plain text.
  }
  return { msg: text };
}

/** This process's environment without settings of Drover's own, which a developer may have exported. */
function inherited(): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && (!name.startsWith('DROVER_') || name === 'DROVER_RCLNODEJS'),
  );
  return Object.fromEntries(kept) as Record<string, string>;
}
