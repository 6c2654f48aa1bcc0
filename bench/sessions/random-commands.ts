import { commandTo } from '../commands/load.js';
import { TOPIC } from '../commands/ros.js';
import { HttpClient } from '../harness/http-client.js';

const EVERY_MS = 100;
/** Each asks for its outcome so often: those that wait for a robot are many. */
const ASK_AGAIN_MS = 500;
/** A command to nobody ends sooner by itself. */
const ANSWERED_WITHIN_MS = 30_000;

/** What became of them. */
export interface Ends {
  readonly posted: number;
  /** POSTs that were taken, and have an end that could be read. */
  readonly answered: number;
  readonly slowestPostMs: number;
  /** How many ended so: `executed`, an error code, or what was wrong with an answer. */
  readonly by: Readonly<Record<string, number>>;
}

/** Commands to any of the robots, one each 100 ms, whether they are there or not. */
export class RandomCommands {
  readonly #client: HttpClient;
  readonly #robots: number;
  readonly #timer: NodeJS.Timeout;
  readonly #ends: Promise<{ end: string; isAnswer: boolean }>[] = [];
  #slowestPostMs = 0;

  constructor(url: string, robots: number, headers: Record<string, string>) {
    this.#client = new HttpClient(url, headers);
    this.#robots = robots;
    const post = () => this.#ends.push(this.#one());
    post();
    this.#timer = setInterval(post, EVERY_MS);
  }

  /** Sends no more; resolves when all that were sent have ended. */
  async stop(): Promise<Ends> {
    clearInterval(this.#timer);
    const ends = await Promise.all(this.#ends);
    this.#client.close();
    const by: Record<string, number> = {};
    for (const { end } of ends) by[end] = (by[end] ?? 0) + 1;
    const answered = ends.filter(({ isAnswer }) => isAnswer).length;
    return { posted: ends.length, answered, slowestPostMs: this.#slowestPostMs, by };
  }

  async #one(): Promise<{ end: string; isAnswer: boolean }> {
    const startMs = performance.now();
    const robot = Math.floor(Math.random() * this.#robots);
    try {
      const path = `/robots/robot-${robot}/commands`;
      const posted = await this.#client.ask<{ uuid: string }>('POST', path, commandTo(TOPIC));
      this.#slowestPostMs = Math.max(this.#slowestPostMs, performance.now() - startMs);
      if (posted.status !== 201) return { end: `POST: ${posted.status}`, isAnswer: false };
      while (performance.now() < startMs + ANSWERED_WITHIN_MS) {
        const outcome = `/commands/${posted.body.uuid}/outcome`;
        const { body } = await this.#client.ask<{ state: string; error_code: string | null }>('GET', outcome);
        if (body.state === 'executed') return { end: body.state, isAnswer: true };
        if (body.state === 'error') return { end: body.error_code ?? 'error', isAnswer: true };
        await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
      }
      return { end: 'no end', isAnswer: false };
    } catch (error) {
      return { end: error instanceof Error ? error.message : String(error), isAnswer: false };
    }
  }
}
