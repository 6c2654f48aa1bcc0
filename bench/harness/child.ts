/** A program of the benchmarks' own in a process of its own, asked one thing at a time (serve.ts is its end). */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

interface Reply {
  readonly result?: unknown;
  readonly error?: string;
}

export class Child {
  readonly #process: ChildProcess;
  readonly #exited: Promise<string>;
  readonly #replies: ((reply: Reply) => void)[] = [];

  /** @param program of bench/dist, without `.js`: `ingest/senders` */
  constructor(program: string, env: Record<string, string> = {}) {
    const file = fileURLToPath(new URL(`../${program}.js`, import.meta.url));
    const child = spawn(process.execPath, [file], {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#process = child;
    this.#exited = once(child, 'exit').then(([code, signal]) => {
      const why = `${program} ended with ${code ?? signal}`;
      for (const reply of this.#replies.splice(0)) reply({ error: why });
      return why;
    });
    // An end is told by the exit.
    child.stdin.on('error', () => {});
    createInterface({ input: child.stdout }).on('line', (line) => this.#replies.shift()?.(JSON.parse(line)));
  }

  /** Rejects when it ends, for who waits for what it does unasked. */
  get ended(): Promise<never> {
    return this.#exited.then((why) => {
      throw new Error(why);
    });
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  /** @throws Error with what the program threw */
  async ask<T>(what: string, options: unknown = {}): Promise<T> {
    const replied = new Promise<Reply>((resolve) => this.#replies.push(resolve));
    this.#process.stdin?.write(`${JSON.stringify({ what, options })}\n`);
    const { result, error } = await replied;
    if (error !== undefined) throw new Error(`${what}: ${error}`);
    return result as T;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async stop(): Promise<void> {
    this.#process.stdin?.end();
    await this.#exited;
  }
}
