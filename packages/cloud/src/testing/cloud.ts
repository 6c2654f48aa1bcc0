/** For tests: the cloud's HTTP side on a real SQLite file in a temp dir and a real server on any port. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ErrorBody } from '@drover/shared/api/errors';
import { pino } from 'pino';
import { InProcessBus } from '../bus/in-process.js';
import type { LiveInboxes } from '../commands/commands.js';
import { openStore } from '../db/store.js';
import type { UnstoredChanges } from '../gateway/presence.js';
import type { RobotQuestions } from '../graph/inquiry.js';
import { NoAnswerError } from '../graph/no-answer.js';
import { createApp } from '../http/app.js';
import type { Endpoint } from '../http/endpoint.js';
import { createServices, endpointsOf } from '../services.js';

/** A fresh directory, and the function that removes it. */
export function tempDir(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'drover-cloud-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** `T`: what the body is expected to be, a refusal's where nothing else is said; whether it is that is for the test to say. */
export interface TestAnswer<T = ErrorBody> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON, read; undefined where the answer is none. */
  readonly body: T;
}

export type TestCloud = Awaited<ReturnType<typeof startTestCloud>>;

/** No robot is connected. */
const NOBODY: RobotQuestions = {
  ask: async () => {
    throw new NoAnswerError('offline', 'it is offline');
  },
};

/** A running cloud with one tenant, whose key its requests carry. */
export async function startTestCloud(
  options: { dataDir?: string; moreEndpoints?: Endpoint[]; inboxes?: LiveInboxes; questions?: RobotQuestions } = {},
) {
  const temp = options.dataDir === undefined ? tempDir() : undefined;
  const dataDir = options.dataDir ?? temp?.path ?? '';
  const clock = { nowMs: Date.parse('2026-11-21T12:00:00Z') };
  const now = () => clock.nowMs;
  const log = pino({ level: 'silent' });
  const store = openStore({ dataDir, nowMs: now() });
  const bus = new InProcessBus();
  const unstored: UnstoredChanges = new Map();
  const services = createServices({
    store,
    unstored,
    bus,
    inboxes: options.inboxes ?? { inboxOf: () => undefined },
    questions: options.questions ?? NOBODY,
    log,
    now,
  });
  const first = await services.tenants.ensureFirst('test-key-of-the-first-tenant');
  const key = first?.secret ?? 'test-key-of-the-first-tenant';
  const app = createApp({
    log,
    authenticate: services.keys.authenticate,
    endpoints: [...(options.moreEndpoints ?? []), ...endpointsOf(services)],
  });
  const server = createServer(app);
  // A test that keeps the process busy for longer than the default of 5 s would next meet a connection that is just being closed.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  /** `body`: an object is sent as JSON, a string as it stands. */
  async function request<T = ErrorBody>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<TestAnswer<T>> {
    const answer = await fetch(url + path, {
      method,
      headers: { 'svc-api-key': key, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true && text !== '';
    const read = (isJson ? JSON.parse(text) : undefined) as T;
    return { status: answer.status, headers: answer.headers, text, body: read };
  }

  return {
    url,
    key,
    dataDir,
    clock,
    store,
    bus,
    /** What reads show of presence besides the store. */
    unstored,
    services,
    request,
    get: <T = ErrorBody>(path: string, headers?: Record<string, string>) => request<T>('GET', path, undefined, headers),
    post: <T = ErrorBody>(path: string, body?: unknown, headers?: Record<string, string>) =>
      request<T>('POST', path, body, headers),
    patch: <T = ErrorBody>(path: string, body?: unknown) => request<T>('PATCH', path, body),
    delete: <T = ErrorBody>(path: string) => request<T>('DELETE', path),
    /** Makes a robot and returns what the rules know it by, and its token. */
    async robot(id: string) {
      const made = await request<{ token: string }>('POST', '/robots', { id });
      const tenantKey = (await services.tenants.findKey('default')) ?? 0;
      return { ref: await services.robots.find(tenantKey, id), token: made.body.token };
    },
    async stop() {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
      await services.commands.stop();
      await services.writer.stop();
      await services.streamReports.stop();
      await services.composeReports.stop();
      await services.links.stop();
      await services.deletion.stop();
      await store.close();
      temp?.remove();
    },
  };
}
