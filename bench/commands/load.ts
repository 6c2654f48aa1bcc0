import { HttpClient } from '../harness/http-client.js';
import { quantile } from '../harness/windows.js';
import { TOPIC } from './ros.js';

/** Twist with a number in it; every command's whole. */
const PAYLOAD = { linear: { x: 0.1, y: 0, z: 0 }, angular: { x: 0, y: 0, z: 0.1 } };
export const commandTo = (name: string) => {
  return { interface: 'topic', name, type: 'geometry_msgs/msg/Twist', payload: PAYLOAD };
};
/** With many in flight, how often each asks for its outcome; alone it asks again at once. */
const ASK_AGAIN_MS = 5;

export interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly count: number;
}

/** POSTs commands and reads their outcomes: of the product and of the bare script alike, which answer at the same paths. */
export class CommandLoad {
  readonly #client: HttpClient;
  readonly #robot: string;

  constructor(url: string, robot: string, headers: Record<string, string> = {}) {
    this.#client = new HttpClient(url, headers);
    this.#robot = robot;
  }

  /** One after the other. */
  async alone(ms: number): Promise<Latencies> {
    const took: number[] = [];
    for (const endMs = performance.now() + ms; performance.now() < endMs; ) took.push(await this.#one(TOPIC, 0));
    return { p50Ms: quantile(took, 0.5), p99Ms: quantile(took, 0.99), maxMs: Math.max(...took), count: took.length };
  }

  /** So many in flight, to these topics in turn; commands ended a second. */
  async together(inFlight: number, ms: number, topics: readonly string[]): Promise<number> {
    const startMs = performance.now();
    let count = 0;
    const work = async (_: unknown, at: number) => {
      while (performance.now() < startMs + ms) {
        await this.#one(topics[at % topics.length] ?? TOPIC, ASK_AGAIN_MS);
        count += 1;
      }
    };
    await Promise.all(Array.from({ length: inFlight }, work));
    return (count / (performance.now() - startMs)) * 1000;
  }

  close(): void {
    this.#client.close();
  }

  /** From the POST to the moment at which its outcome is read. */
  async #one(topic: string, askAgainMs: number): Promise<number> {
    const startMs = performance.now();
    const posted = await this.#client.ask<{ uuid: string }>(
      'POST',
      `/robots/${this.#robot}/commands`,
      commandTo(topic),
    );
    if (posted.status !== 201) throw new Error(`POST: ${posted.status} ${JSON.stringify(posted.body)}`);
    for (;;) {
      const { body } = await this.#client.ask<{ state: string }>('GET', `/commands/${posted.body.uuid}/outcome`);
      if (body.state === 'executed') return performance.now() - startMs;
      if (body.state === 'error') throw new Error(`a command failed: ${JSON.stringify(body)}`);
      if (askAgainMs > 0) await new Promise((resolve) => setTimeout(resolve, askAgainMs));
    }
  }
}
