import type { HttpClient } from '../harness/http-client.js';
import { quantile } from '../harness/windows.js';
import { FIRST_STAMP_MS, STEP_MS, sourceName } from './layout.js';

const PAGE = 50;

/** What a store holds, as far as it is to be asked. */
export interface Held {
  readonly robots: number;
  readonly sources: number;
  /** Points of a source. */
  readonly points: number;
}

/** The reads that must stay flat: by name, the path of the nth request. */
const READS: Readonly<Record<string, (held: Held, n: number) => string>> = {
  'latest 1': (held, n) => `${dataPath(held, n)}&latest_only=true`,
  'latest 50': (held, n) => `${dataPath(held, n)}&limit=${PAGE}`,
  'a time range of 50': (held, n) => {
    // In the middle, where neither end of the index is.
    const first = Math.floor(held.points / 2) - PAGE;
    const [from, to] = [first - 1, first + PAGE].map((step) => new Date(FIRST_STAMP_MS + step * STEP_MS).toISOString());
    return `${dataPath(held, n)}&from=${from}&to=${to}&limit=1000`;
  },
  '/robots': () => '/robots',
  '/commands page': () => `/commands?limit=${PAGE}`,
};

export const READ_NAMES = Object.keys(READS);

function dataPath(held: Held, n: number): string {
  const robot = n % held.robots;
  const source = Math.floor(n / held.robots) % held.sources;
  return `/robots/robot-${robot}/data?source=${encodeURIComponent(sourceName(source))}`;
}

/** A list of all robots takes so long that a tenth of the requests tells. */
const FEWER_REQUESTS: Readonly<Record<string, number>> = { '/robots': 0.1 };

/** A store that is asked. */
export interface Asked {
  readonly client: HttpClient;
  readonly held: Held;
}

/**
 * For each store the median latency in ms of so many requests of that name, one after the other and the stores in turn: what the machine
 * does meanwhile meets them alike. The first ones, over new connections and to pages not read before, do not count.
 * @throws Error where an answer is not what it must be
 */
export async function readLatencies(stores: readonly Asked[], name: string, requests: number): Promise<number[]> {
  const took = stores.map((): number[] => []);
  const count = Math.ceil(requests * (FEWER_REQUESTS[name] ?? 1));
  const warmUp = Math.ceil(count / 10);
  for (let n = 0; n < warmUp + count; n += 1) {
    for (const [at, store] of stores.entries()) {
      const ms = await readLatency(store, name, n);
      if (n >= warmUp) took[at]?.push(ms);
    }
  }
  return took.map((ms) => quantile(ms, 0.5));
}

async function readLatency({ client, held }: Asked, name: string, n: number): Promise<number> {
  const path = READS[name]?.(held, n);
  if (path === undefined) throw new Error(`no read is named ${name}`);
  const startMs = performance.now();
  const { status, body } = await client.ask<unknown[]>('GET', path);
  const ms = performance.now() - startMs;
  const expected = name.endsWith(' 1') ? 1 : name === '/robots' ? body.length : PAGE;
  if (status !== 200 || body.length !== expected) throw new Error(`${path}: ${status}, ${body.length} items`);
  return ms;
}
