import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastingPort } from './port.js';
import { Running } from './process.js';

/** An answer of the API, its JSON already read. */
export interface Answer<T = unknown> {
  status: number;
  body: T;
  headers: Headers;
}

export const API_KEY = 'drk_test-key-for-the-whole-system';

/** A real cloud process on a port of its own and a data directory of its own, and its API. */
export class TestCloud {
  readonly #env: Record<string, string>;
  readonly #within: readonly string[];
  readonly dataDir: string;
  process: Running;
  url = '';

  private constructor(dataDir: string, env: Record<string, string>, within: readonly string[]) {
    this.dataDir = dataDir;
    this.#within = within;
    this.#env = { DROVER_DATA_DIR: dataDir, DROVER_API_KEY: API_KEY, ...env };
    this.process = new Running('cloud', [], this.#env, undefined, within);
  }

  /**
   * @param dataDir a folder of its own by default
   * @param within a command that runs it
   */
  static async start(
    env: Record<string, string> = {},
    dataDir?: string,
    within: readonly string[] = [],
  ): Promise<TestCloud> {
    const asked = { DROVER_PORT: String(await lastingPort()), ...env };
    const cloud = new TestCloud(dataDir ?? (await mkdtemp(join(tmpdir(), 'drover-cloud-'))), asked, within);
    await cloud.#listening();
    return cloud;
  }

  async #listening(): Promise<void> {
    const { url } = await this.process.line((line) => line.msg === 'listening');
    this.url = String(url);
  }

  /** kill -9, then the same cloud again: same data directory, same port. */
  async crashAndRestart(): Promise<void> {
    await this.process.kill9();
    const { port } = new URL(this.url);
    this.process = new Running('cloud', [], { ...this.#env, DROVER_PORT: port }, undefined, this.#within);
    await this.#listening();
  }

  /** A clean stop, something done to its data, the same cloud again. */
  async restart(meanwhile: () => void = () => {}): Promise<void> {
    await this.process.stop();
    meanwhile();
    const { port } = new URL(this.url);
    this.process = new Running('cloud', [], { ...this.#env, DROVER_PORT: port });
    await this.#listening();
  }

  async stop(): Promise<number | NodeJS.Signals> {
    const code = await this.process.stop();
    await rm(this.dataDir, { recursive: true, force: true });
    return code;
  }

  async call<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    const response = await fetch(this.url + path, {
      method,
      headers: { 'svc-api-key': API_KEY, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T, headers: response.headers };
  }

  async get<T = unknown>(path: string): Promise<T> {
    const answer = await this.call<T>('GET', path);
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** A new robot; returns its token. */
  async register(robotId: string): Promise<string> {
    const answer = await this.call<{ token: string }>('POST', '/robots', { id: robotId });
    if (answer.status !== 201) throw new Error(`robot not created: ${JSON.stringify(answer.body)}`);
    return answer.body.token;
  }

  /** Asks until the answer satisfies; throws with the last one after `withinMs`. */
  async until<T>(path: string, satisfied: (body: T) => boolean, withinMs = 40_000): Promise<T> {
    const deadline = Date.now() + withinMs;
    for (;;) {
      const body = await this.get<T>(path).catch((error: unknown) => error as T);
      if (!(body instanceof Error) && satisfied(body)) return body;
      if (Date.now() > deadline)
        throw new Error(`${path} never came to satisfy: ${String(JSON.stringify(body) ?? body)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  online(robotId: string, online = true, withinMs = 60_000) {
    return this.until<{ online: boolean }>(`/robots/${robotId}`, (robot) => robot.online === online, withinMs);
  }

  /** POSTs a command and returns its outcome once it has one. */
  async run(robotId: string, command: Record<string, unknown>, withinMs = 60_000): Promise<Outcome> {
    const answer = await this.call<{ uuid: string }>('POST', `/robots/${robotId}/commands`, command);
    if (answer.status !== 201) throw new Error(`command refused: ${answer.status} ${JSON.stringify(answer.body)}`);
    return await this.outcome(answer.body.uuid, withinMs);
  }

  outcome(uuid: string, withinMs = 60_000): Promise<Outcome> {
    return this.until<Outcome>(
      `/commands/${uuid}/outcome`,
      (o) => o.state === 'executed' || o.state === 'error',
      withinMs,
    );
  }
}

export interface Outcome {
  uuid: string;
  state: string;
  error_code: string | null;
  error_message: string | null;
  result: unknown;
  feedback: unknown;
  created_at: string;
  sent_at: string | null;
  finished_at: string | null;
}
