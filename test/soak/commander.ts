import { setTimeout } from 'node:timers/promises';
import type { Outcome, TestCloud } from '../support/cloud.js';
import { COMMANDS } from './plan.js';

const COMMAND_EVERY_MS = 100;
/** Newest commands looked at in one look, one a second: those of 20 s. */
const LOOK_AT = 200;
const LOOK_EVERY_MS = 1000;
/** A command still without an end so long after the last one was sent has none. */
const LAST_OUTCOME_MS = 60_000;

export interface CommandsReport {
  readonly sent: number;
  /** By the command's name. */
  readonly executed: Readonly<Record<string, number>>;
  /** How many ended with which error, with one example. */
  readonly errors: Readonly<Record<string, { count: number; example: string }>>;
  /** Never ended. */
  readonly pending: number;
}

/** Sends a command each 100 ms and follows each to its end. */
export class Commander {
  readonly #cloud: TestCloud;
  readonly #robotId: string;
  /** Name by uuid of those that have not ended. */
  readonly #pending = new Map<string, string>();
  readonly #executed: Record<string, number> = {};
  readonly #errors: Record<string, { count: number; example: string }> = {};
  readonly #stop = new AbortController();
  #sent = 0;
  #running: Promise<unknown> | null = null;

  constructor(cloud: TestCloud, robotId: string) {
    this.#cloud = cloud;
    this.#robotId = robotId;
  }

  start(): void {
    const { signal } = this.#stop;
    this.#running = Promise.all([this.#send(signal), this.#follow(signal)]);
    this.#running.catch(() => {});
  }

  /** Sends no more, and waits for what still runs. @throws Error where the cloud refused a command. */
  async stop(): Promise<CommandsReport> {
    this.#stop.abort();
    await this.#running;
    const deadline = Date.now() + LAST_OUTCOME_MS;
    while (this.#pending.size > 0 && Date.now() < deadline) {
      for (const uuid of [...this.#pending.keys()]) await this.#settle(uuid);
      await setTimeout(LOOK_EVERY_MS);
    }
    return { sent: this.#sent, executed: this.#executed, errors: this.#errors, pending: this.#pending.size };
  }

  async #send(signal: AbortSignal): Promise<void> {
    const begin = performance.now();
    const posts: Promise<void>[] = [];
    while (!signal.aborted) {
      posts.push(this.#post());
      if (posts.length > COMMANDS.length) await posts.shift();
      const dueMs = begin + this.#sent * COMMAND_EVERY_MS;
      await setTimeout(Math.max(0, dueMs - performance.now()));
    }
    await Promise.all(posts);
  }

  async #post(): Promise<void> {
    const command = COMMANDS[this.#sent % COMMANDS.length];
    this.#sent += 1;
    const answer = await this.#cloud.call<{ uuid: string }>('POST', `/robots/${this.#robotId}/commands`, command);
    if (answer.status !== 201) throw new Error(`a command was refused: ${JSON.stringify(answer.body)}`);
    this.#pending.set(answer.body.uuid, command?.name ?? '');
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await setTimeout(LOOK_EVERY_MS);
      const page = await this.#cloud.get<{ uuid: string; state: string }[]>(
        `/robots/${this.#robotId}/commands?limit=${LOOK_AT}`,
      );
      for (const { uuid, state } of page) {
        if (state === 'error') await this.#settle(uuid);
        else if (state === 'executed') this.#ended(uuid);
      }
    }
  }

  async #settle(uuid: string): Promise<void> {
    if (!this.#pending.has(uuid)) return;
    const outcome = await this.#cloud.get<Outcome>(`/commands/${uuid}/outcome`);
    if (outcome.state === 'executed') this.#ended(uuid);
    if (outcome.state !== 'error') return;
    const code = outcome.error_code ?? '';
    this.#errors[code] ??= { count: 0, example: `${this.#pending.get(uuid)}: ${outcome.error_message}` };
    this.#errors[code].count += 1;
    this.#pending.delete(uuid);
  }

  #ended(uuid: string): void {
    const name = this.#pending.get(uuid);
    if (name === undefined) return;
    this.#executed[name] = (this.#executed[name] ?? 0) + 1;
    this.#pending.delete(uuid);
  }
}
