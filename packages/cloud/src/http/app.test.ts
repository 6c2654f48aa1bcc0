import { request as rawRequest } from 'node:http';
import type { Scope } from '@drover/shared/api/keys';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openStore } from '../db/store.js';
import { Keys } from '../keys/keys.js';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';
import { endpoint } from './endpoint.js';

describe('the HTTP app', () => {
  let cloud: TestCloud;
  let failure: unknown;
  beforeAll(async () => {
    const failing = endpoint({
      method: 'get',
      path: '/failing',
      operationId: 'fail',
      tag: 'Test',
      summary: 'Fails',
      scope: 'robots:read',
      answers: { 200: { description: 'never', schema: z.unknown() } },
      errors: [],
      handle: async () => {
        throw failure;
      },
    });
    cloud = await startTestCloud({ moreEndpoints: [failing] });
    await cloud.robot('rover-1');
  });
  afterAll(() => cloud.stop());

  it.each(['/robots', '/no/such/route'])('answers %s without a key as unauthenticated', async (path) => {
    for (const key of ['', 'wrong', `${cloud.key}x`]) {
      const answer = await cloud.get(path, { 'svc-api-key': key });
      expect([answer.status, answer.body.error_code]).toEqual([401, 'unauthenticated']);
      expect(Object.keys(answer.body)).toEqual(['error_code', 'message']);
    }
  });

  it('checks the key before the body', async () => {
    const answer = await cloud.post('/robots', '{broken', { 'svc-api-key': 'wrong' });
    expect(answer.status).toBe(401);
  });

  it('answers a route that is not there, or not in this method, as not found', async () => {
    expect((await cloud.get('/no/such/route')).body.error_code).toBe('not_found');
    expect((await cloud.request('PUT', '/robots', {})).body.error_code).toBe('not_found');
    expect((await cloud.get('/ROBOTS')).status).toBe(404);
  });

  it('takes a slash at the end of a path, but not two, and looks at a path as it was written', async () => {
    await cloud.post('/robots', { id: 'rover' });
    for (const path of ['/robots', '/robots/rover', '/robots/rover/commands']) {
      expect((await cloud.get(`${path}/`)).status).toBe(200);
      expect((await cloud.get(`${path}//`)).status).toBe(404);
    }
    expect((await cloud.get('/robots/rov%65r')).status).toBe(200);
    expect((await cloud.get('/robots%2Frover')).status).toBe(404);
  });

  it('refuses a key that was revoked, from the next request on', async () => {
    const tenantKey = (await cloud.services.tenants.findKey('default')) ?? 0;
    const { uuid, secret } = await cloud.services.keys.create({ tenantKey, name: 'temporary' });
    expect((await cloud.get('/robots', { 'svc-api-key': secret })).status).toBe(200);
    expect(await cloud.services.keys.revoke(uuid)).toBe(true);
    expect((await cloud.get('/robots', { 'svc-api-key': secret })).status).toBe(401);
  });

  it('refuses a key that another process revoked, from the next request on', async () => {
    const tenantKey = (await cloud.services.tenants.findKey('default')) ?? 0;
    const { uuid, secret } = await cloud.services.keys.create({ tenantKey, name: 'temporary' });
    expect((await cloud.get('/robots', { 'svc-api-key': secret })).status).toBe(200);
    const other = openStore({ dataDir: cloud.dataDir, nowMs: 0 });
    expect(await new Keys({ store: other, now: Date.now }).revoke(uuid)).toBe(true);
    expect((await cloud.get('/robots', { 'svc-api-key': secret })).status).toBe(401);
    await other.close();
  });

  it('refuses a key without the scope of the route, before the body', async () => {
    const tenantKey = (await cloud.services.tenants.findKey('default')) ?? 0;
    const scopes: Scope[] = ['robots:read'];
    const { secret } = await cloud.services.keys.create({ tenantKey, name: 'reader', scopes });
    expect((await cloud.get('/robots', { 'svc-api-key': secret })).status).toBe(200);
    const answer = await cloud.post('/robots', '{broken', { 'svc-api-key': secret });
    expect([answer.status, answer.body.error_code]).toEqual([403, 'forbidden']);
    expect(answer.body.message).toContain('robots:write');
  });

  it.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/json; charset=utf-8', 201],
    ['application/json; charset=latin1', 415],
  ])('answers a body declared %s with %i', async (contentType, status) => {
    const id = `type-${status}-${contentType.length}`;
    const answer = await cloud.post('/robots', { id }, { 'content-type': contentType });
    expect(answer.status).toBe(status);
    if (status === 415) expect(answer.body.error_code).toBe('unsupported_media_type');
  });

  it.each([
    ['nothing', undefined],
    ['no JSON', '{"id":'],
    ['a string', '"rover"'],
    ['a list', '[]'],
    ['null', 'null'],
    ['an unclosed brace in a string', '{"id": "abcd'],
  ])('answers %s as a body with 400', async (_name, body) => {
    const answer = await cloud.post('/robots', body);
    expect([answer.status, answer.body.error_code]).toEqual([400, 'invalid_request']);
  });

  it('names unknown fields and everything else that is wrong', async () => {
    const answer = await cloud.post('/robots', { id: 'a', colour: 'red', size: 3 });
    expect(answer.status).toBe(400);
    expect(answer.body.details).toEqual(
      expect.arrayContaining([
        { path: 'colour', message: 'unknown field' },
        { path: 'size', message: 'unknown field' },
        { path: 'id', message: expect.any(String) },
      ]),
    );
  });

  it('refuses a body over 1 MiB, and takes one just under it', async () => {
    const padding = ' '.repeat(1024 * 1024 - 20);
    expect((await cloud.post('/robots', `{"id":"large"}${padding}`)).status).toBe(201);
    const answer = await cloud.post('/robots', `{"id":"larger"}${padding}          `);
    expect([answer.status, answer.body.error_code]).toEqual([413, 'payload_too_large']);
  });

  it('refuses JSON nested over 100 levels, however deep, and takes 100', async () => {
    const nested = (levels: number) => `{"id":"abcd","x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    const at = await cloud.post('/robots', nested(100));
    expect(at.body.details).toEqual([{ path: 'x', message: 'unknown field' }]);
    for (const levels of [101, 100_000]) {
      const answer = await cloud.post('/robots', nested(levels));
      expect(answer.status).toBe(400);
      expect(answer.body.message).toContain('100 levels');
    }
  });

  it('refuses a field named __proto__', async () => {
    expect((await cloud.post('/robots', '{"id":"abcd","__proto__":{"a":1}}')).status).toBe(400);
  });

  it('refuses a broken percent-encoding in the path', async () => {
    for (const path of ['/robots/%zz', '/robots/rover-1/%E0%A4%A', '/nothing/%']) {
      const { hostname, port } = new URL(cloud.url);
      const status = await new Promise((resolve, reject) => {
        const options = { hostname, port, path, headers: { 'svc-api-key': cloud.key } };
        rawRequest(options, (answer) => resolve(answer.resume().statusCode))
          .on('error', reject)
          .end();
      });
      expect(status).toBe(400);
    }
  });

  it.each([
    'limit=0',
    'limit=1001',
    'limit=-1',
    'limit=',
    'limit=abc',
    'limit=1.5',
    'limit=1e2',
    'limit=+5',
    'limit=5&limit=6',
    'offset=-1',
    'offset=99999999999999999',
    'offset=x',
    'latest_only=1',
    'latest_only=TRUE',
    'latest_only=',
  ])('refuses the query %s, naming the parameter', async (query) => {
    const answer = await cloud.get(`/robots/rover-1/vitals?${query}`);
    expect([answer.status, answer.body.error_code]).toEqual([400, 'invalid_request']);
    expect(answer.body.details?.[0]?.path).toBe(query.split('=')[0]);
  });

  it.each([
    'limit=1',
    'limit=1000',
    'offset=9007199254740991',
    'latest_only=false',
    'unknown=1&unknown=2',
    'constructor=1&constructor=2',
    '__proto__=1',
  ])('takes the query %s', async (query) => {
    expect((await cloud.get(`/robots/rover-1/vitals?${query}`)).status).toBe(200);
  });

  it.each([
    ['2026-01-31', 400],
    ['2026-01-31T12:00:00', 400],
    ['2026-02-30T12:00:00Z', 400],
    ['2026-01-31T24:00:00Z', 400],
    ['2026-01-31T12:00:00%2B25:00', 400],
    ['2026-01-31T12:00:00+02:00', 400],
    ['yesterday', 400],
    ['1767225600', 400],
    ['2026-01-31T12:00:00Z', 200],
    ['2026-01-31t12:00:00.123456z', 200],
    ['2026-01-31T12:00:00%2B02:00', 200],
    ['2024-02-29T00:00:00-11:30', 200],
  ])('answers the timestamp %s with %i', async (text, status) => {
    expect((await cloud.get(`/robots/rover-1/logs?from=${text}`)).status).toBe(status);
  });

  it('answers a corrupt store as unavailable, with the remedy', async () => {
    failure = new Sqlite.SqliteError('database disk image is malformed', 'SQLITE_CORRUPT');
    const answer = await cloud.get('/failing');
    expect([answer.status, answer.body.error_code]).toEqual([503, 'unavailable']);
    expect(answer.body.message).toMatch(/corrupt.*backup/);
  });

  it('answers a full disk as unavailable, for now', async () => {
    failure = new Sqlite.SqliteError('database or disk is full', 'SQLITE_FULL');
    const answer = await cloud.get('/failing');
    expect([answer.status, answer.body.error_code]).toEqual([503, 'unavailable']);
    expect(answer.headers.get('retry-after')).toBe('5');
  });

  it('answers what it did not expect without telling its innards', async () => {
    failure = new Error('secret detail');
    const answer = await cloud.get('/failing');
    expect([answer.status, answer.body.error_code]).toEqual([500, 'internal_error']);
    expect(answer.text).not.toContain('secret detail');
  });

  it('gives each answer a request id, the caller’s own where it is one', async () => {
    expect((await cloud.get('/robots', { 'x-request-id': 'mine-1' })).headers.get('x-request-id')).toBe('mine-1');
    const made = (await cloud.get('/robots', { 'x-request-id': 'not an id' })).headers.get('x-request-id');
    expect(made).toMatch(/^[0-9a-f-]{36}$/);
  });
});
