import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Finding } from './check.js';
import { ANSWER_TIMEOUT_MS, explainNetworkFailure } from './network-failure.js';

/** More of an answer is not read: a healthz is some bytes, and what else may answer there is anything. */
const BODY_BYTES_MAX = 4096;

/** What came of asking the cloud's /healthz: an answer, whosever it is, or the reason why there was none. */
export type Health = { readonly answer: HealthAnswer } | { readonly failure: Finding };

export interface HealthAnswer {
  readonly url: string;
  readonly status: number;
  /** The headers that matter here, null where they are absent. */
  readonly date: string | null;
  readonly location: string | null;
  readonly body: string;
  /** By the robot's wall clock. */
  readonly sentMs: number;
  readonly receivedMs: number;
}

/** Asks `<httpUrl>/healthz`, without the token. Never rejects. */
export async function askHealthz(httpUrl: string, now: () => number): Promise<Health> {
  const url = new URL(`${httpUrl}/healthz`);
  try {
    return { answer: await get(url, now) };
  } catch (error) {
    return { failure: explainNetworkFailure(error, url, now()) };
  }
}

function get(url: URL, now: () => number): Promise<HealthAnswer> {
  return new Promise((resolve, reject) => {
    const sentMs = now();
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      agent: false,
      // An answer out of a cache would tell of another time.
      headers: { 'cache-control': 'no-cache' },
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
    request.on('error', reject);
    request.on('response', (response) => {
      const receivedMs = now();
      const { date = null, location = null } = response.headers;
      const status = response.statusCode ?? 0;
      let body = '';
      const done = () => {
        resolve({ url: url.href, status, date, location, body, sentMs, receivedMs });
        request.destroy();
      };
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
        if (body.length >= BODY_BYTES_MAX) done();
      });
      response.on('end', done);
      response.on('error', reject);
    });
    request.end();
  });
}
