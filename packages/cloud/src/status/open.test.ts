import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { docsRouter } from '../docs/docs.js';
import { createApp } from '../http/app.js';
import { endpointsOf } from '../services.js';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';
import { healthRouter } from './health.js';
import { Metrics } from './metrics.js';
import { statusPageRouter } from './page.js';

describe('what needs no key', () => {
  let cloud: TestCloud;
  let url: string;
  let stopping = false;
  const metrics = new Metrics({ sessions: () => 7 });
  const server = createServer();
  beforeAll(async () => {
    cloud = await startTestCloud();
    const log = pino({ level: 'silent' });
    const endpoints = endpointsOf(cloud.services);
    const health = healthRouter({
      store: cloud.store,
      log,
      monotonicNow: () => performance.now(),
      isStopping: () => stopping,
    });
    const open = [health, metrics.router(), docsRouter(endpoints), statusPageRouter()];
    const { authenticate } = cloud.services.keys;
    server.on('request', createApp({ log, authenticate, endpoints, open, observe: metrics.observe }));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await cloud.stop();
  });

  it('answers health and readiness, and is not ready while it stops', async () => {
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    stopping = true;
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    stopping = false;
  });

  it('counts requests by route, sessions and rows, and names no robot', async () => {
    const headers = { 'svc-api-key': cloud.key };
    await fetch(`${url}/robots/rover-of-mine`, { headers });
    metrics.committed({ rows: 5, batches: 2 });
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toContain('drover_robot_sessions 7');
    expect(text).toContain('drover_ingest_rows_total 5');
    expect(text).toMatch(
      /drover_http_request_duration_seconds_count\{method="GET",route="\/robots\/\{id\}",status="404"\} 1/,
    );
    expect(text).not.toContain('rover-of-mine');
  });

  it('documents every endpoint once, with an operation id', async () => {
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
      openapi: string;
      paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>;
    };
    expect(document.openapi).toBe('3.1.0');
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    const endpoints = endpointsOf(cloud.services);
    expect(operations.map((operation) => operation.operationId).sort()).toEqual(
      endpoints.map((endpoint) => endpoint.operationId).sort(),
    );
    expect(new Set(operations.map((operation) => operation.operationId)).size).toBe(operations.length);
    for (const endpoint of endpoints) {
      const operation = document.paths[endpoint.path]?.[endpoint.method];
      expect(Object.keys(operation?.responses ?? {})).toEqual(
        expect.arrayContaining([...Object.keys(endpoint.answers), '401', '403', '503']),
      );
    }
  });

  it('documents query parameters as what they are', async () => {
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
      paths: Record<string, { get: { parameters: { name: string; in: string; schema: unknown }[] } }>;
    };
    const parameters = document.paths['/robots/{id}/logs']?.get.parameters ?? [];
    const schemaOf = (name: string) => parameters.find((parameter) => parameter.name === name)?.schema;
    expect(parameters.map((parameter) => parameter.name).sort()).toEqual(
      ['before', 'from', 'id', 'latest_only', 'limit', 'offset', 'source', 'to'].sort(),
    );
    expect(schemaOf('limit')).toMatchObject({ type: 'integer', minimum: 1, maximum: 1000, default: 50 });
    expect(schemaOf('latest_only')).toMatchObject({ type: 'boolean', default: false });
    expect(schemaOf('from')).toMatchObject({ type: 'string', format: 'date-time' });
  });

  it('serves the documentation and the status page with all that they load, from here', async () => {
    for (const page of ['/docs', '/app']) {
      const answer = await fetch(url + page);
      const html = await answer.text();
      expect([page, answer.status, answer.headers.get('content-type')]).toEqual([
        page,
        200,
        'text/html; charset=utf-8',
      ]);
      const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => String(match[1]));
      expect(loaded.length).toBeGreaterThan(1);
      for (const path of loaded) {
        expect(path.startsWith('/')).toBe(true);
        expect([path, (await fetch(url + path)).status]).toEqual([path, 200]);
      }
    }
  });

  it('leads a browser from / to the status page, and tells a program that it needs a key', async () => {
    const browser = await fetch(`${url}/`, { headers: { accept: 'text/html' }, redirect: 'manual' });
    expect([browser.status, browser.headers.get('location')]).toEqual([302, '/app']);
    expect((await fetch(`${url}/`)).status).toBe(401);
  });
});
