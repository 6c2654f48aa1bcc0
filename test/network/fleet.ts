import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { FleetEvent } from './fleet-process.js';
import type { Line } from './line.js';

/** Built by `tsc -b`, which `npm test` runs first. */
const program = fileURLToPath(new URL(import.meta.url.includes('/dist/') ? '.' : '../dist/network', import.meta.url));

/** A process with many robots at the far end of a line, and what it has said of their attempts and sessions. */
export class Fleet {
  readonly events: FleetEvent[] = [];
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #open = new Set<number>();

  constructor(line: Pick<Line, 'url' | 'within'>, tokens: readonly string[]) {
    const url = `${line.url.replace('http', 'ws')}/agent`;
    const [command = '', ...args] = [...line.within, process.execPath, `${program}/fleet-process.js`, url];
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.#child.stdout }).on('line', (text) => {
      const event = JSON.parse(text) as FleetEvent;
      this.events.push(event);
      if (event.event === 'opened') this.#open.add(event.robot);
      if (event.event === 'closed') this.#open.delete(event.robot);
    });
    this.#child.stdin.write(tokens.map((token) => `${token}\n`).join(''));
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** Robots that have a session, by their own word. */
  get open(): number {
    return this.#open.size;
  }

  /** Of each robot whose session opened since: when. */
  openedSince(sinceMs: number): number[] {
    return this.events.filter(({ event, at }) => event === 'opened' && at >= sinceMs).map(({ at }) => at);
  }

  attemptsSince(sinceMs: number): number[] {
    return this.events.filter(({ event, at }) => event === 'attempt' && at >= sinceMs).map(({ at }) => at);
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.stdin.end();
    await exited;
  }
}
