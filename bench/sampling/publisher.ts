import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { SampledTopic } from './topics.js';

const program = fileURLToPath(new URL('../../sampling/publisher.py', import.meta.url));

/** rclpy, publishing one topic from its start to its end. */
export class Publisher {
  readonly #process: ChildProcess;
  readonly #lines: Interface;

  private constructor(process: ChildProcess, lines: Interface) {
    this.#process = process;
    this.#lines = lines;
  }

  /** @throws Error where it does not come up */
  static async start(
    { name, publishedHz }: SampledTopic,
    { topic, python, env: ros }: { topic: string; python: string; env: Record<string, string> },
  ): Promise<Publisher> {
    // What rclnodejs needs to find Python at all, and Python trips over.
    const { LD_PRELOAD: _, ...env } = process.env;
    const child = spawn(python, [program, name, topic, String(publishedHz)], {
      env: { ...env, ...ros },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout });
    const ready = await Promise.race([once(lines, 'line').then(() => true), once(child, 'exit').then(() => false)]);
    if (!ready) throw new Error(`the publisher of ${name} did not start`);
    return new Publisher(child, lines);
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  /** Messages since its start. */
  async published(): Promise<number> {
    this.#process.stdin?.write('\n');
    const [line] = await once(this.#lines, 'line');
    return Number(line);
  }

  async stop(): Promise<void> {
    this.#process.stdin?.end();
    if (this.#process.exitCode === null) await once(this.#process, 'exit');
  }
}
