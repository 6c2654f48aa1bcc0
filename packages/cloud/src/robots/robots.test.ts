import type { CreatedRobot, Robot } from '@drover/shared/api/robots';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';
import { RobotGoneError } from './robot-gone.js';

describe('robots', () => {
  let cloud: TestCloud;
  beforeEach(async () => {
    cloud = await startTestCloud();
  });
  afterEach(() => cloud.stop());

  it('creates a robot and shows its token once', async () => {
    const made = await cloud.post<CreatedRobot>('/robots', { id: 'rover-1', name: 'Rover' });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      robot_id: 'rover-1',
      tenant_uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      token: expect.stringMatching(/^drt_[0-9A-Za-z]{43}$/),
    });
    const shown = await cloud.get<Robot>('/robots/rover-1');
    expect(shown.status).toBe(200);
    expect(shown.body).toEqual({
      id: 'rover-1',
      name: 'Rover',
      provisioned: false,
      token_hint: expect.stringMatching(/^drt_[0-9A-Za-z]{4}\*+[0-9A-Za-z]{3}$/),
      agent_version: '',
      online: false,
      online_updated_at: '2026-11-21T12:00:00.000Z',
      created_at: '2026-11-21T12:00:00.000Z',
      vitals: { cpu: -1, battery: -1, ram: -1, disk: -1 },
    });
    const { token } = made.body;
    const [head = '', tail = ''] = shown.body.token_hint.split(/\*+/);
    expect(token.startsWith(head) && token.endsWith(tail)).toBe(true);
  });

  it('gives a robot without a name two readable words', async () => {
    await cloud.post('/robots', { id: 'rover-1' });
    expect((await cloud.get<Robot>('/robots/rover-1')).body.name).toMatch(/^[a-z]+-[a-z]+$/);
  });

  it('lists robots whole and oldest first', async () => {
    for (const id of ['zeta', 'alpha', 'Alpha']) await cloud.post('/robots', { id });
    const { body } = await cloud.get<Robot[]>('/robots');
    expect(body.map(({ id }) => id)).toEqual(['zeta', 'alpha', 'Alpha']);
  });

  it('refuses an id that is taken, and takes it in another case', async () => {
    await cloud.post('/robots', { id: 'rover-1' });
    const again = await cloud.post('/robots', { id: 'rover-1' });
    expect([again.status, again.body.error_code]).toEqual([409, 'robot_exists']);
    expect((await cloud.post('/robots', { id: 'Rover-1' })).status).toBe(201);
  });

  it.each([
    ['abc', 400],
    ['abcd', 201],
    [`a${'b'.repeat(28)}`, 201],
    [`a${'b'.repeat(29)}`, 400],
    ['1abc', 400],
    ['_abc', 400],
    ['a b c d', 400],
    ['abc/d', 400],
    ['rober\u00e9', 400],
    ['abcd\n', 400],
    ['a-_9Z', 201],
  ])('answers the id %j with %i', async (id, status) => {
    const made = await cloud.post('/robots', { id });
    expect(made.status).toBe(status);
    if (status === 400) expect(made.body.details?.[0]?.path).toBe('id');
  });

  it('renames a robot', async () => {
    await cloud.post('/robots', { id: 'rover-1' });
    const renamed = await cloud.patch('/robots/rover-1', { name: 'Päul' });
    expect([renamed.status, Object.keys(renamed.body)]).toEqual([200, ['message']]);
    expect((await cloud.get<Robot>('/robots/rover-1')).body.name).toBe('Päul');
  });

  it('forgets a deleted robot at once, ends its session, and takes its id for a new one', async () => {
    const { ref, token } = await cloud.robot('rover-1');
    const revoked = new Promise((resolve) => cloud.bus.subscribe('robot_revoked', resolve));
    expect((await cloud.delete('/robots/rover-1')).status).toBe(204);
    expect(await revoked).toEqual({ robotKey: ref.key });
    expect(await cloud.services.robots.authenticateToken(token)).toBeUndefined();
    expect((await cloud.get('/robots/rover-1')).body.error_code).toBe('robot_not_found');
    expect((await cloud.get('/robots')).body).toEqual([]);
    expect((await cloud.delete('/robots/rover-1')).status).toBe(404);
    const again = await cloud.robot('rover-1');
    expect(again.ref.key).not.toBe(ref.key);
  });

  it('starts no session of a robot that was deleted since its token was checked', async () => {
    const { ref } = await cloud.robot('rover-1');
    await cloud.delete('/robots/rover-1');
    await expect(cloud.services.robots.sessionStarted(ref.key, '2026-11-21')).rejects.toBeInstanceOf(RobotGoneError);
  });

  it('rotates a token: the old one is refused, the session ends', async () => {
    const { ref, token } = await cloud.robot('rover-1');
    const revoked = new Promise((resolve) => cloud.bus.subscribe('robot_revoked', resolve));
    const rotated = await cloud.post<CreatedRobot>('/robots/rover-1/token');
    expect([rotated.status, Object.keys(rotated.body)]).toEqual([201, ['robot_id', 'tenant_uuid', 'token']]);
    expect(await revoked).toEqual({ robotKey: ref.key });
    expect(await cloud.services.robots.authenticateToken(token)).toBeUndefined();
    expect(await cloud.services.robots.authenticateToken(rotated.body.token)).toEqual(ref);
  });

  it('moves online_updated_at only when online changes', async () => {
    const { ref } = await cloud.robot('rover-1');
    const { robots } = cloud.services;
    await robots.sessionStarted(ref.key, '2026-11-21');
    await robots.setOnline([{ robotKey: ref.key, online: true, atMs: cloud.clock.nowMs + 1000.5 }]);
    await robots.setOnline([{ robotKey: ref.key, online: true, atMs: cloud.clock.nowMs + 9000 }]);
    expect((await cloud.get('/robots/rover-1')).body).toMatchObject({
      provisioned: true,
      agent_version: '2026-11-21',
      online: true,
      online_updated_at: '2026-11-21T12:00:01.000Z',
    });
    expect(await robots.onlineKeys()).toEqual([ref.key]);
    await robots.setOnline([{ robotKey: ref.key, online: false, atMs: cloud.clock.nowMs + 10_000 }]);
    expect(await robots.onlineKeys()).toEqual([]);
    expect((await cloud.get<Robot>('/robots/rover-1')).body.online_updated_at).toBe('2026-11-21T12:00:10.000Z');
  });

  it('shows what the store could not take of presence, everywhere, and nothing new where it had taken as much', async () => {
    const { ref } = await cloud.robot('rover-1');
    await cloud.post('/robots/rover-1/streams', { source: '/odom', type: 'nav_msgs/msg/Odometry', hz: 1 });
    const shown = async () => {
      const paths = ['/robots/rover-1', '/robots/rover-1/link', '/robots/rover-1/streams/%2Fodom/status'];
      const answers = await Promise.all(paths.map((path) => cloud.get<Robot>(path)));
      return [...answers.map(({ body }) => body.online), answers[0]?.body.online_updated_at];
    };
    const cameMs = Date.parse('2026-11-21T13:00:00Z');
    await cloud.services.robots.setOnline([{ robotKey: ref.key, online: true, atMs: cameMs }]);
    cloud.unstored.set(ref.key, { robotKey: ref.key, online: true, atMs: cameMs + 60_000 });
    expect(await shown()).toEqual([true, true, true, '2026-11-21T13:00:00.000Z']);
    cloud.unstored.set(ref.key, { robotKey: ref.key, online: false, atMs: cameMs + 60_000.5 });
    expect(await shown()).toEqual([false, false, false, '2026-11-21T13:01:00.000Z']);
    expect((await cloud.get<Robot[]>('/robots')).body[0]?.online).toBe(false);
    cloud.unstored.clear();
    expect((await shown())[0]).toBe(true);
  });

  it('answers another tenant as if the robot did not exist', async () => {
    await cloud.post('/robots', { id: 'rover-1' });
    const { secret } = await cloud.services.tenants.create({ name: 'other' });
    const other = { 'svc-api-key': secret };
    expect((await cloud.get('/robots/rover-1', other)).body.error_code).toBe('robot_not_found');
    expect((await cloud.get('/robots', other)).body).toEqual([]);
    expect((await cloud.post('/robots', { id: 'rover-1' }, other)).status).toBe(201);
  });
});
