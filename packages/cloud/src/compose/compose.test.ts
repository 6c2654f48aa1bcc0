import type { ComposeFile, RobotComposeFile } from '@drover/shared/api/compose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';

const web = { services: { web: { image: 'nginx:1', ports: ['8080:80'], restart: 'always' } } };

describe('compose files', () => {
  let cloud: TestCloud;
  beforeEach(async () => {
    cloud = await startTestCloud();
    await cloud.robot('rover-1');
  });
  afterEach(() => cloud.stop());

  const store = (id: string, content: unknown = web, name?: string) =>
    cloud.post('/compose-files', { id, content, ...(name === undefined ? {} : { name }) });

  it('stores a compose file, named by its id where it has no name', async () => {
    const made = await store('stack-1');
    expect([made.status, made.body]).toEqual([201, { id: 'stack-1' }]);
    await store('stack-2', web, 'Second');
    const first = { id: 'stack-1', name: 'stack-1', content: web, created_at: '2026-11-21T12:00:00.000Z' };
    expect((await cloud.get('/compose-files/stack-1')).body).toEqual(first);
    expect((await cloud.get('/compose-files')).body).toEqual([first, { ...first, id: 'stack-2', name: 'Second' }]);
  });

  it('refuses an id that is taken or no id', async () => {
    await store('stack-1');
    expect((await store('stack-1')).body.error_code).toBe('compose_file_exists');
    expect((await store('1stack')).body.details?.[0]?.path).toBe('id');
  });

  it.each([
    ['an unknown field', { services: { web: { image: 'a', imagee: 'b' } } }, 'content.services.web'],
    ['a wrong type', { services: { web: { image: 5 } } }, 'content.services.web.image'],
    ['a port that is none', { services: { web: { image: 'a', ports: [true] } } }, 'content.services.web.ports[0]'],
    ['an unknown part', { services: { web: { image: 'a' } }, servicess: {} }, 'content'],
    ['no services', {}, 'content.services'],
    ['empty services', { services: {} }, 'content.services'],
    ['services that are a list', { services: [] }, 'content.services'],
    ['a list', [], 'content'],
    ['a string', 'services: {}', 'content'],
    ['null', null, 'content'],
  ])('refuses %s, with its place', async (_name, content, path) => {
    const answer = await store('stack-1', content);
    expect([answer.status, answer.body.error_code]).toEqual([400, 'invalid_request']);
    expect(answer.body.details?.map(({ path: at }) => at)).toContain(path);
    expect((await cloud.get('/compose-files')).body).toEqual([]);
  });

  it('takes what the Compose schema takes', async () => {
    const rich = {
      name: 'rich',
      services: {
        app: {
          build: { context: '.', args: { A: '1' } },
          environment: { B: null, C: 3 },
          healthcheck: { test: ['CMD', 'true'], interval: '5s', retries: 3 },
          deploy: { resources: { limits: { memory: '64m' } } },
          depends_on: { db: { condition: 'service_healthy' } },
          network_mode: 'host',
          'x-note': { anything: [1, 2] },
        },
        db: { image: 'postgres', volumes: [{ type: 'volume', source: 'data', target: '/data' }] },
      },
      volumes: { data: null },
      'x-more': true,
    };
    expect((await store('stack-1', rich)).status).toBe(201);
    expect((await cloud.get<ComposeFile>('/compose-files/stack-1')).body.content).toEqual(rich);
  });

  it('makes a new version on a change; a robot keeps the one it was assigned until it is assigned again', async () => {
    await store('stack-1', web, 'First');
    const assigned = await cloud.post('/robots/rover-1/compose-file', { id: 'stack-1' });
    expect([assigned.status, Object.keys(assigned.body)]).toEqual([202, ['message']]);
    const newer = { services: { web: { image: 'nginx:2' } } };
    const changed = await cloud.patch('/compose-files/stack-1', { content: newer });
    expect([changed.status, Object.keys(changed.body)]).toEqual([200, ['message']]);
    expect((await cloud.get('/compose-files/stack-1')).body).toMatchObject({ name: 'First', content: newer });
    const onRobot = {
      id: 'stack-1',
      name: 'First',
      state: 'pending_up',
      error_code: null,
      content: web,
      created_at: '2026-11-21T12:00:00.000Z',
    };
    expect((await cloud.get('/robots/rover-1/compose-file')).body).toEqual(onRobot);
    await cloud.post('/robots/rover-1/compose-file', { id: 'stack-1' });
    expect((await cloud.get('/robots/rover-1/compose-file')).body).toEqual({ ...onRobot, content: newer });
  });

  it('keeps its versions, and puts an earlier one on a robot again where it is asked to', async () => {
    const newer = { services: { web: { image: 'nginx:2' } } };
    await store('stack-1', web, 'First');
    cloud.clock.nowMs += 1000;
    await cloud.patch('/compose-files/stack-1', { content: newer, name: 'Second' });
    const [one, two] = [
      { version: 1, name: 'First', created_at: '2026-11-21T12:00:00.000Z' },
      { version: 2, name: 'Second', created_at: '2026-11-21T12:00:01.000Z' },
    ];
    expect((await cloud.get('/compose-files/stack-1/versions')).body).toEqual([one, two]);
    const first = { id: 'stack-1', ...one, content: web };
    expect((await cloud.get('/compose-files/stack-1/versions/1')).body).toEqual(first);
    await cloud.post('/robots/rover-1/compose-file', { id: 'stack-1' });
    await cloud.post('/robots/rover-1/compose-file', { id: 'stack-1', version: 1 });
    expect((await cloud.get('/robots/rover-1/compose-file')).body).toMatchObject({ name: 'First', content: web });
    for (const version of ['0', '01', 'x', '1.0']) {
      expect((await cloud.get(`/compose-files/stack-1/versions/${version}`)).status).toBe(400);
    }
    const missing = [
      await cloud.get('/compose-files/stack-1/versions/3'),
      await cloud.get('/compose-files/nothing/versions'),
      await cloud.post('/robots/rover-1/compose-file', { id: 'stack-1', version: 3 }),
    ];
    for (const answer of missing) expect(answer.body.error_code).toBe('compose_file_not_found');
  });

  it('checks a changed content as a new one', async () => {
    await store('stack-1');
    expect((await cloud.patch('/compose-files/stack-1', { content: {} })).status).toBe(400);
    expect((await cloud.patch('/compose-files/stack-1', {})).status).toBe(400);
    expect((await cloud.patch('/compose-files/nothing', { name: 'x' })).body.error_code).toBe('compose_file_not_found');
  });

  it('is delivered as desired state', async () => {
    const { key } = await cloud.services.robots.find(1, 'rover-1');
    await store('stack-1', web, 'First');
    await cloud.post('/robots/rover-1/compose-file', { id: 'stack-1' });
    const before = await cloud.services.desired.forRobot(key);
    const assignment = expect.stringMatching(/^[0-9a-f-]{36}$/);
    const of = { id: 'stack-1', version: 1, name: 'First', content: web };
    expect(before.compose).toEqual({ ...of, assignment, override_lock: false });
    await cloud.delete('/robots/rover-1/compose-file');
    const after = await cloud.services.desired.forRobot(key);
    expect(after).toMatchObject({ compose: null, revision: before.revision + 1 });
    expect(after.compose_removal).toEqual({ assignment, volumes: false, override_lock: false });
    expect(after.compose_removal?.assignment).not.toBe(before.compose?.assignment);
  });

  it('deletes a file that no robot uses, and refuses while one does', async () => {
    await store('stack-1');
    await cloud.services.robots.sessionStarted((await cloud.services.robots.find(1, 'rover-1')).key, '2026-11-21');
    await cloud.post('/robots/rover-1/compose-file', { id: 'stack-1' });
    const used = await cloud.delete('/compose-files/stack-1');
    expect([used.status, used.body.error_code]).toEqual([409, 'compose_file_in_use']);
    expect(used.body.message).toContain('rover-1');
    const taken = await cloud.delete('/robots/rover-1/compose-file');
    expect([taken.status, Object.keys(taken.body)]).toEqual([202, ['message']]);
    // The robot has not said that it is down.
    expect((await cloud.get<RobotComposeFile>('/robots/rover-1/compose-file')).body.state).toBe('pending_down');
    expect((await cloud.delete('/compose-files/stack-1')).status).toBe(409);
    await cloud.delete('/robots/rover-1');
    expect((await cloud.delete('/compose-files/stack-1')).status).toBe(204);
    expect((await cloud.delete('/compose-files/stack-1')).body.error_code).toBe('compose_file_not_found');
  });

  it('is down at once on a robot that was never connected, and may then be deleted', async () => {
    await store('stack-1');
    await cloud.post('/robots/rover-1/compose-file', { id: 'stack-1' });
    await cloud.delete('/robots/rover-1/compose-file');
    expect((await cloud.get<RobotComposeFile>('/robots/rover-1/compose-file')).body.state).toBe('down');
    expect((await cloud.delete('/robots/rover-1/compose-file')).status).toBe(202);
    expect((await cloud.delete('/compose-files/stack-1')).status).toBe(204);
    expect((await cloud.get('/robots/rover-1/compose-file')).body.error_code).toBe('compose_file_not_assigned');
  });

  it('says what is not there: robot, file, assignment', async () => {
    const code = async (answer: Promise<{ status: number; body: { error_code: string } }>) =>
      (await answer).body.error_code;
    expect(await code(cloud.get('/robots/rover-1/compose-file'))).toBe('compose_file_not_assigned');
    expect(await code(cloud.delete('/robots/rover-1/compose-file'))).toBe('compose_file_not_assigned');
    expect(await code(cloud.post('/robots/rover-1/compose-file', { id: 'nothing' }))).toBe('compose_file_not_found');
    expect(await code(cloud.post('/robots/nobody/compose-file', { id: 'nothing' }))).toBe('robot_not_found');
    expect(await code(cloud.get('/compose-files/nothing'))).toBe('compose_file_not_found');
  });

  it('keeps tenants apart', async () => {
    await store('stack-1');
    const { secret } = await cloud.services.tenants.create({ name: 'other' });
    const other = { 'svc-api-key': secret };
    expect((await cloud.get('/compose-files/stack-1', other)).status).toBe(404);
    expect((await cloud.get('/compose-files', other)).body).toEqual([]);
    await cloud.post('/robots', { id: 'rover-9' }, other);
    expect((await cloud.post('/robots/rover-9/compose-file', { id: 'stack-1' }, other)).status).toBe(404);
  });
});
