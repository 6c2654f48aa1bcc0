import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type {
  GraphPeer,
  PeerAdvertiseOptions,
  PeerLogLevel,
  PeerPublisher,
  PeerSubscribeOptions,
  PeerSubscription,
} from './peer.js';

/**
 * A rclpy node in a process of its own (peer.py) for tests on real ROS 2:
 *
 *     const peer = await startRclpyPeer({ domainId: 12 });
 *     const subscription = await peer.subscribe({ topic: '/cmd_vel', type: 'geometry_msgs/msg/Twist' });
 *     expect(await subscription.next()).toEqual({ linear: { x: 0.2, … }, … });
 *     await peer.stop();
 *
 * Needs the environment that `npm test` makes (see testing/ros.ts). What Python writes to stderr goes to the test's,
 * but for what its node logs, which a test provokes on purpose.
 */
export interface RclpyPeer extends GraphPeer {
  advertise(options: PeerAdvertiseOptions & RclpyQos): Promise<RclpyPublisher>;
  /** Where the call that wrote the record stands, as /rosout says it. */
  log(level: PeerLogLevel, text: string): Promise<{ file: string; function: string; line: number }>;
  /** `acceptDelayMs`: how long it takes to accept or reject a goal. */
  serveFibonacci(name: string, options?: { stepMs?: number; acceptDelayMs?: number }): Promise<void>;
  /** How many goals the server of that action was ever asked to run. */
  goalsAsked(name: string): Promise<number>;
  /** How many calls of a served SetBool have arrived. */
  callsAsked(name: string): Promise<number>;
  /** How many of each are on the graph under that name; those of an action are on names under it, `/x/_action/feedback`. */
  endpoints(name: string): Promise<{ publishers: number; subscribers: number; clients: number }>;
  /** A service whose response takes each field that it shares with the request, e.g. test_msgs/srv/BasicTypes. */
  serveEcho(name: string, type: string): Promise<void>;
  /** An action that answers each goal by feedback and result of the same fields, e.g. test_msgs/action/NestedMessage. */
  serveEchoAction(name: string, type: string): Promise<void>;
  /** A message with the fields that it lacks, as ROS itself fills them; of a service's or an action's part as well. */
  complete(type: string, message: unknown): Promise<unknown>;
  /** Messages as ROS itself reads them from CDR. */
  deserialize(type: string, cdrs: readonly Uint8Array[]): Promise<unknown[]>;
  /** Random messages, each with the CDR that ROS itself writes of it. */
  serializeRandom(
    type: string,
    options: { seed: number; count: number },
  ): Promise<{ message: unknown; cdr: Uint8Array }[]>;
  /** Ends the process as a crash would (SIGKILL); nobody on the graph is told. */
  kill(): Promise<void>;
}

/** QoS that only real ROS has; durations in seconds, no end where not said. */
export interface RclpyQos {
  deadline?: number;
  lifespan?: number;
  liveliness?: 'manual_by_topic';
  liveliness_lease_duration?: number;
}

export interface RclpyPublisher extends PeerPublisher {
  /** `counter`: the name of a field that is set to 1, 2, 3, … on the way, or counts on `from` another number. */
  repeat(message: unknown, options: { count: number; hz: number; counter?: string; from?: number }): Promise<void>;
  /** Publishes a random message and tells it. */
  publishRandom(seed: number): Promise<unknown>;
}

export interface RclpyPeerOptions {
  domainId: number;
  /** Default `peer`. */
  nodeName?: string;
}

/** Starts the process and waits until its node is there. @throws Error where it ends at once, with its last words. */
export async function startRclpyPeer({ domainId, nodeName = 'peer' }: RclpyPeerOptions): Promise<RclpyPeer> {
  // The path from dist/ to the source is the same as from src/: a build leaves Python files behind.
  const script = fileURLToPath(new URL('../../../src/ros/testing/peer.py', import.meta.url));
  const { LD_PRELOAD: _, ...env } = process.env;
  const child = spawn(process.env.DROVER_TEST_PYTHON ?? 'python3', [script, nodeName], {
    env: { ...env, ROS_DOMAIN_ID: String(domainId), ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST' },
    stdio: 'pipe',
  });
  const peer = new Process(child);
  await peer.ready;
  return peer;
}

/** What the process says: a request's answer, a message received, or once that it is ready. */
type Line =
  | { id: number; ok: unknown }
  | { id: number; error: string }
  | { subscription: number; message: unknown }
  | { ready: string };

/** Lines of its stderr that are kept for the error of a process that ended. */
const LAST_WORDS = 30;

class Process implements RclpyPeer {
  readonly ready: Promise<void>;
  nodeName = '';
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exited: Promise<unknown>;
  readonly #pending = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  readonly #inboxes = new Map<number, Inbox>();
  readonly #lastWords: string[] = [];
  #requests = 0;

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    this.ready = new Promise((resolve, reject) => {
      this.#pending.set(0, { resolve: () => resolve(), reject });
    });
    createInterface({ input: child.stdout }).on('line', (line) => this.#take(JSON.parse(line) as Line));
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.#lastWords.push(line);
      if (this.#lastWords.length > LAST_WORDS) this.#lastWords.shift();
    });
    child.stdin.on('error', () => {
      // It has ended; the requests are rejected below.
    });
    child.on('error', (error) => this.#fail(error));
    this.#exited = once(child, 'close').then(([code, signal]) => {
      this.#fail(new Error(`the rclpy peer ended (${code ?? signal}):\n${this.#lastWords.join('\n')}`));
    });
  }

  async subscribe(options: PeerSubscribeOptions): Promise<PeerSubscription> {
    return this.#inbox(Number(await this.#ask('subscribe', { ...options })));
  }

  async advertise(options: PeerAdvertiseOptions): Promise<RclpyPublisher> {
    const publisher = await this.#ask('advertise', { ...options });
    return {
      matched: async (count = 1) => void (await this.#ask('matched', { publisher, count })),
      publish: async (message) => void (await this.#ask('publish', { publisher, message })),
      repeat: async (message, repeat) => void (await this.#ask('repeat', { publisher, message, ...repeat })),
      publishRandom: (seed) => this.#ask('publish_random', { publisher, seed }),
      close: async () => void (await this.#ask('close', { publisher })),
    };
  }

  async serveSetBool(name: string, { delayMs = 0 } = {}): Promise<void> {
    await this.#ask('serve_set_bool', { name, delay_s: delayMs / 1000 });
  }

  async serveFibonacci(name: string, { stepMs = 20, acceptDelayMs = 0 } = {}): Promise<void> {
    await this.#ask('serve_fibonacci', { name, step_s: stepMs / 1000, accept_delay_s: acceptDelayMs / 1000 });
  }

  async callsAsked(name: string): Promise<number> {
    return Number(await this.#ask('calls_asked', { name }));
  }

  async goalsAsked(name: string): Promise<number> {
    return Number(await this.#ask('goals_asked', { name }));
  }

  async endpoints(name: string): Promise<{ publishers: number; subscribers: number; clients: number }> {
    return (await this.#ask('endpoints', { name })) as { publishers: number; subscribers: number; clients: number };
  }

  async serveEcho(name: string, type: string): Promise<void> {
    await this.#ask('serve_echo', { name, type });
  }

  async serveEchoAction(name: string, type: string): Promise<void> {
    await this.#ask('serve_echo_action', { name, type });
  }

  async log(level: PeerLogLevel, text: string): Promise<{ file: string; function: string; line: number }> {
    return (await this.#ask('log', { level, text })) as { file: string; function: string; line: number };
  }

  complete(type: string, message: unknown): Promise<unknown> {
    return this.#ask('complete', { type, message });
  }

  async deserialize(type: string, cdrs: readonly Uint8Array[]): Promise<unknown[]> {
    const encoded = cdrs.map((cdr) => Buffer.from(cdr).toString('base64'));
    return (await this.#ask('deserialize', { type, cdrs: encoded })) as unknown[];
  }

  async serializeRandom(type: string, { seed, count }: { seed: number; count: number }) {
    const made = (await this.#ask('serialize_random', { type, seed, count })) as { message: unknown; cdr: string }[];
    return made.map(({ message, cdr }) => ({ message, cdr: new Uint8Array(Buffer.from(cdr, 'base64')) }));
  }

  async stop(): Promise<void> {
    this.#child.stdin.end();
    await this.#exited;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  #ask(op: string, values: object): Promise<unknown> {
    this.#requests += 1;
    const id = this.#requests;
    return new Promise((resolve, reject) => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        reject(new Error(`the rclpy peer has ended and can't ${op}`));
        return;
      }
      this.#pending.set(id, { resolve, reject });
      this.#child.stdin.write(`${JSON.stringify({ ...values, id, op })}\n`);
    });
  }

  #take(line: Line): void {
    if ('ready' in line) {
      this.nodeName = line.ready;
      this.#settle(0)?.resolve(undefined);
    } else if ('subscription' in line) {
      this.#inbox(line.subscription).push(line.message);
    } else if ('error' in line) {
      this.#settle(line.id)?.reject(new Error(`the rclpy peer: ${line.error}`));
    } else {
      this.#settle(line.id)?.resolve(line.ok);
    }
  }

  #settle(id: number) {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  /** A latched message may come before the answer that names the subscription, so either makes its inbox. */
  #inbox(subscription: number): Inbox {
    const inbox = this.#inboxes.get(subscription) ?? new Inbox();
    this.#inboxes.set(subscription, inbox);
    return inbox;
  }

  #fail(error: Error): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    for (const inbox of this.#inboxes.values()) inbox.fail(error);
  }
}

class Inbox implements PeerSubscription {
  readonly received: unknown[] = [];
  readonly #waiting: { resolve: (message: unknown) => void; reject: (error: Error) => void }[] = [];
  #taken = 0;

  next(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#hand();
    });
  }

  push(message: unknown): void {
    this.received.push(message);
    this.#hand();
  }

  fail(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  #hand(): void {
    while (this.#waiting.length > 0 && this.#taken < this.received.length) {
      this.#waiting.shift()?.resolve(this.received[this.#taken]);
      this.#taken += 1;
    }
  }
}
