import { existsSync, readFileSync, statSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestAgent } from './agent.js';
import type { Outcome, TestCloud } from './cloud.js';
import { LinkProxy } from './link-proxy.js';
import { openSqlite } from './stored.js';

/** How long the calls of /probe/add take. */
const CALL_MS = 2_000;

/** So many calls of a service run at once; the next ones wait. */
const CALLS_AT_ONCE = 8;

/** The inbox's file and what SQLite keeps beside it. */
const PARTS = ['', '-wal', '-shm'];

interface Sent {
  readonly uuid: string;
  /** As the robot's probe writes it. */
  readonly effect: string;
}

/** A robot behind a line of its own, whose effects are counted where they happen (packages/agent: robot/probe.ts). */
export class ProbedRobot {
  readonly #cloud: TestCloud;
  readonly #probeFile: string;
  #sent: Sent[] = [];
  #next: number;

  private constructor(
    cloud: TestCloud,
    readonly id: string,
    readonly token: string,
    readonly line: LinkProxy,
    readonly agent: TestAgent,
    probeFile: string,
    first: number,
  ) {
    this.#cloud = cloud;
    this.#probeFile = probeFile;
    this.#next = first;
  }

  /** @param first the number of its first command: no two robots of a test share one. */
  static async start(cloud: TestCloud, id: string, first = 1_000): Promise<ProbedRobot> {
    const token = await cloud.register(id);
    const line = await LinkProxy.start(cloud.url);
    const probeFile = join(await mkdtemp(join(tmpdir(), 'drover-probe-')), 'probe');
    const env = { DROVER_TEST_PROBE: probeFile };
    const agent = await TestAgent.start({ url: line.url, token, env });
    await cloud.online(id);
    return new ProbedRobot(cloud, id, token, line, agent, probeFile, first);
  }

  async stop(): Promise<void> {
    await this.agent.stop();
    await this.line.stop();
    await rm(join(this.#probeFile, '..'), { recursive: true, force: true });
  }

  /** How often each effect came about, in all lives of the robot. */
  effects(): Map<string, number> {
    const counts = new Map<string, number>();
    const text = existsSync(this.#probeFile) ? readFileSync(this.#probeFile, 'utf8') : '';
    for (const line of text.split('\n')) {
      // `topic TEXT`, then when: the same effect at another time is the same effect.
      const [effect] = /^(topic|service|goal) \S+/.exec(line) ?? [];
      if (effect !== undefined) counts.set(effect, (counts.get(effect) ?? 0) + 1);
    }
    return counts;
  }

  /** A further agent with this robot's token and this data directory; its effects count as this robot's. */
  clone(dataDir: string): Promise<TestAgent> {
    return TestAgent.start({
      url: this.line.url,
      token: this.token,
      dataDir,
      env: { DROVER_TEST_PROBE: this.#probeFile },
    });
  }

  async #post(effect: string, command: Record<string, unknown>, key?: string): Promise<Sent> {
    // It lives for longer than the test: nothing is kept from running twice by being late.
    const body = { ttl_s: 600, timeout_s: 30, ...command };
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    const answer = await this.#cloud.call<{ uuid: string }>('POST', `/robots/${this.id}/commands`, body, headers);
    if (answer.status > 201) throw new Error(`command refused: ${answer.status} ${JSON.stringify(answer.body)}`);
    const sent = { uuid: answer.body.uuid, effect };
    if (!this.#sent.some(({ uuid }) => uuid === sent.uuid)) this.#sent.push(sent);
    return sent;
  }

  /** @param options `key`: its idempotency-key; `text`: another note's, to send that again; anything else is the command's. */
  note(options: { key?: string; text?: string; [field: string]: unknown } = {}): Promise<Sent> {
    const { key, text = String(this.#next++), ...rest } = options;
    const topic = { interface: 'topic', name: '/probe/note', type: 'std_msgs/msg/String', payload: { data: text } };
    return this.#post(`topic ${text}`, { ...topic, ...rest }, key);
  }

  /** @param options `ms`: how long it takes; anything else is a field of the command. */
  call(options: { ms?: number; [field: string]: unknown } = {}): Promise<Sent> {
    const { ms = CALL_MS, ...rest } = options;
    const a = this.#next++;
    const type = 'example_interfaces/srv/AddTwoInts';
    const command = { interface: 'service', name: '/probe/add', type, payload: { a, b: ms }, ...rest };
    return this.#post(`service ${a}`, command);
  }

  /** One of nine steps, nearly two seconds. */
  goal(): Promise<Sent> {
    const order = this.#next++ * 10 + 9;
    const type = 'example_interfaces/action/Fibonacci';
    const command = { interface: 'action_send_goal', name: '/probe/goal', type, payload: { order } };
    return this.#post(`goal ${order}`, command);
  }

  async happened(...sent: readonly Sent[]): Promise<void> {
    const deadline = Date.now() + 40_000;
    for (;;) {
      const effects = this.effects();
      const missing = sent.filter(({ effect }) => !effects.has(effect));
      if (missing.length === 0) return;
      if (Date.now() > deadline) {
        const log = this.agent.process.text();
        throw new Error(`never happened: ${missing.map(({ effect }) => effect)}; the agent printed:\n${log}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /**
   * Commands in every state there is on their way: ended and known to be, running, waiting behind those that run, ended
   * with the outcome not heard by the cloud, and written to the socket but not arrived. The line is stalled at the end.
   * @param runningMs how long those take that run
   */
  async putInFlight(runningMs = CALL_MS): Promise<void> {
    const ended = await this.note();
    await this.#cloud.outcome(ended.uuid);
    const goal = await this.goal();
    const running: Sent[] = [];
    for (let count = 0; count < CALLS_AT_ONCE; count += 1) running.push(await this.call({ ms: runningMs }));
    const waiting = [await this.call(), await this.call(), await this.call()];
    const last = waiting.at(-1) ?? ended;
    await this.#cloud.until<Outcome>(`/commands/${last.uuid}/outcome`, ({ state }) => state === 'sent');
    await this.happened(goal, ...running);
    this.line.stall(['up']);
    await this.happened(await this.note(), await this.note());
    this.line.stall();
    await this.note();
    await this.note();
  }

  /** Everything that waited has run, and as much as the line lets the cloud know of it. */
  async ranOn(): Promise<void> {
    await this.happened(...this.#sent.filter(({ effect }) => effect.startsWith('service')));
  }

  /** The final outcomes of all commands, told by the cloud. */
  async outcomes(): Promise<(Outcome & { effect: string })[]> {
    return await Promise.all(
      this.#sent.map(async ({ uuid, effect }) => ({ ...(await this.#cloud.outcome(uuid)), effect })),
    );
  }

  /** The agent, killed, comes back on a line that works, with what `meanwhile` made of its data. */
  async comesBack(meanwhile: () => Promise<void> | void = () => {}): Promise<void> {
    await this.agent.process.kill9();
    this.line.mend();
    await meanwhile();
    await this.agent.restart();
    await this.agent.process.line((line) => line.msg === 'connected');
  }

  /** What was put in flight arrives, runs, and has its outcome at the cloud. */
  async landed(): Promise<void> {
    this.line.mend();
    await this.ranOn();
    await this.outcomes();
  }

  /** Copies the inbox as it is on disk now; returns where to. */
  async copyInbox(): Promise<string> {
    const copy = await mkdtemp(join(tmpdir(), 'drover-copy-'));
    await moveParts(this.agent.dataDir, copy, false);
    return copy;
  }

  async wipeInbox(): Promise<void> {
    for (const part of PARTS) await rm(join(this.agent.dataDir, `inbox.db${part}`), { force: true });
  }

  /** Puts a copy where the inbox was. The agent must not run. */
  async restoreInbox(copy: string): Promise<void> {
    await this.wipeInbox();
    await moveParts(copy, this.agent.dataDir, true);
  }

  /** As restoreInbox, of an image of the whole disk: no mark on it tells the copy from the file that was written. */
  async restoreImage(copy: string): Promise<void> {
    await this.restoreInbox(copy);
    this.#passForWritten();
  }

  #passForWritten(): void {
    const path = join(this.agent.dataDir, 'inbox.db');
    const database = openSqlite(path);
    const { ino, birthtimeNs } = statSync(path, { bigint: true });
    database
      .prepare('UPDATE head SET inode = ?, born = ?, written_at_ms = ?')
      .run(String(ino), String(birthtimeNs), Date.now() + 60_000);
    database.close();
  }
}

/** Moves (or copies) an inbox's files from one directory to another. */
export async function moveParts(from: string, to: string, remove: boolean): Promise<void> {
  for (const part of PARTS) {
    const source = join(from, `inbox.db${part}`);
    if (existsSync(source)) await copyFile(source, join(to, `inbox.db${part}`));
  }
  if (remove) await rm(from, { recursive: true, force: true });
}
