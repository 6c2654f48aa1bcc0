import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { COMMANDS, STREAMS } from './plan.js';

/** The robot of the soak, robot.py: publishes the streams, counts the commands that reach it. */
export class SoakRobot {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #closed: Promise<unknown>;
  #received: Readonly<Record<string, number>> = {};

  private constructor(domainId: number) {
    const script = fileURLToPath(new URL('robot.py', import.meta.url));
    const { LD_PRELOAD: _, ...env } = process.env;
    this.#child = spawn(process.env.DROVER_TEST_PYTHON ?? 'python3', [script, JSON.stringify(plan())], {
      env: { ...env, ROS_DOMAIN_ID: String(domainId), ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST' },
      // What its node logs goes to stderr as well.
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#closed = once(this.#child, 'close');
  }

  /** Resolves once its node is there. @throws Error where it ends at once. */
  static async start(domainId: number): Promise<SoakRobot> {
    const robot = new SoakRobot(domainId);
    const lines = createInterface({ input: robot.#child.stdout });
    const first = once(lines, 'line');
    lines.on('line', (line) => {
      robot.#received = (JSON.parse(line) as { received: Record<string, number> }).received;
    });
    const ended = robot.#closed.then(() => {
      throw new Error('the robot ended before it was there: see what robot.py says');
    });
    await Promise.race([first, ended]);
    ended.catch(() => {});
    return robot;
  }

  /** Ends it. @returns how many commands reached it, by name. */
  async stop(): Promise<Readonly<Record<string, number>>> {
    this.#child.stdin.end();
    await this.#closed;
    return this.#received;
  }
}

function plan(): object {
  const of = (kind: string) => {
    const named = COMMANDS.filter((command) => command.interface === kind);
    return [...new Map(named.map(({ name, type }) => [name, { name, type }])).values()];
  };
  return {
    streams: STREAMS,
    topics: of('topic'),
    services: of('service'),
    actions: of('action_send_goal').map(({ name }) => name),
  };
}
