import type { RobotCommand } from '@drover/shared/api/commands';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';
import { WAITING_MAX } from './admission.js';

const INBOX = '0194b6b0-3b1a-7cc0-8d7f-000000000001';
const TWIST = { interface: 'topic', name: '/cmd_vel', type: 'geometry_msgs/Twist', payload: { linear: { x: 1 } } };
const GOAL = { interface: 'action_send_goal', name: '/fibonacci', type: 'test_msgs/action/Fibonacci', payload: {} };
const COMMANDS = '/robots/rover-1/commands';

/** What a POST is answered with. */
type Posted = Pick<RobotCommand, 'uuid'>;

describe('the endpoints of commands', () => {
  let cloud: TestCloud;
  /** The inbox of the robot's session; undefined = it has none. */
  let liveInbox: string | undefined;

  beforeEach(async () => {
    liveInbox = undefined;
    cloud = await startTestCloud({ inboxes: { inboxOf: () => liveInbox } });
    const { ref } = await cloud.robot('rover-1');
    await cloud.services.robots.sessionStarted(ref.key, '2026-11-21');
  });
  afterEach(() => cloud.stop());

  it('give the same uuid for the same idempotency-key and body, 409 for another body, and a new one for another robot', async () => {
    const key = { 'idempotency-key': 'again' };
    const waiting = { ...TWIST, ttl_s: 60 };
    const twins = await Promise.all([cloud.post(COMMANDS, waiting, key), cloud.post(COMMANDS, waiting, key)]);
    expect(twins.map(({ status }) => status).sort()).toEqual([200, 201]);
    expect(twins[0]?.body).toEqual(twins[1]?.body);
    expect(await cloud.post(COMMANDS, { ...waiting, ttl_s: 61 }, key)).toMatchObject({
      status: 409,
      body: { error_code: 'idempotency_conflict' },
    });
    await cloud.robot('rover-2');
    expect(await cloud.post('/robots/rover-2/commands', waiting, key)).toMatchObject({ status: 201 });
    expect((await cloud.get(COMMANDS)).body).toHaveLength(1);
  });

  it('tell how far a command has come while something else is being written', async () => {
    const { uuid } = (await cloud.post<Posted>(COMMANDS, { ...TWIST, ttl_s: 60 })).body;
    const answer = await cloud.store.db.transaction().execute(() => cloud.get(`/commands/${uuid}/outcome`));
    expect(answer).toMatchObject({ status: 200, body: { uuid, state: 'created', result: null, sent_at: null } });
  });

  it('answer 503 while the disk is full, and go on when it no longer is', async () => {
    const pages = (raw: import('better-sqlite3').Database) => raw.pragma('page_count', { simple: true });
    await cloud.store.exclusive((raw) => raw.pragma(`max_page_count = ${pages(raw)}`));
    const large = { ...TWIST, payload: { data: 'x'.repeat(500_000) }, ttl_s: 60 };
    expect(await cloud.post(COMMANDS, large)).toMatchObject({ status: 503, body: { error_code: 'unavailable' } });
    await cloud.store.exclusive((raw) => raw.pragma('max_page_count = 1000000'));
    expect((await cloud.post(COMMANDS, large)).status).toBe(201);
  });

  it('answer 429 with Retry-After to the one over the bound, and leave its idempotency-key free', async () => {
    for (let count = 0; count < WAITING_MAX; count += 1) await cloud.post(COMMANDS, { ...TWIST, ttl_s: 60 });
    const refused = await cloud.post(COMMANDS, { ...TWIST, ttl_s: 60 }, { 'idempotency-key': 'later' });
    expect(refused).toMatchObject({ status: 429, body: { error_code: 'queue_full' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    cloud.clock.nowMs += 60_000;
    await cloud.services.commands.sweep();
    const later = await cloud.post(COMMANDS, { ...TWIST, ttl_s: 60 }, { 'idempotency-key': 'later' });
    expect(later.status).toBe(201);
  });

  it('say 400 with the path for what a POST can see is wrong, and store nothing', async () => {
    const wrong = { ...TWIST, name: '/cmd vel', type: 'std_srvs/srv/Trigger', payload: {} };
    const answer = await cloud.post(COMMANDS, wrong);
    expect(answer).toMatchObject({ status: 400, body: { error_code: 'invalid_request' } });
    expect(answer.body.details?.map(({ path }) => path)).toEqual(['name', 'type']);
    expect((await cloud.get(COMMANDS)).body).toEqual([]);
  });

  it('answer with the uuid of a command that can not be delivered, which has ended already', async () => {
    const { status, body } = await cloud.post<Posted>(COMMANDS, TWIST);
    expect(status).toBe(201);
    expect((await cloud.get(`/commands/${body.uuid}`)).body).toMatchObject({
      state: 'error',
      error_code: 'robot_not_online',
      type: 'geometry_msgs/msg/Twist',
    });
  });

  it('cancel one that waits, and say 409 for what has ended or runs and is no goal', async () => {
    const { body: waiting } = await cloud.post<Posted>(COMMANDS, { ...TWIST, ttl_s: 60 });
    expect((await cloud.post(`/commands/${waiting.uuid}/cancel`)).status).toBe(202);
    expect((await cloud.get(`/commands/${waiting.uuid}/outcome`)).body).toMatchObject({ error_code: 'canceled' });
    expect((await cloud.post(`/commands/${waiting.uuid}/cancel`)).body.error_code).toBe('command_ended');
    liveInbox = INBOX;
    const { body: running } = await cloud.post<Posted>(COMMANDS, TWIST);
    expect((await cloud.post(`/commands/${running.uuid}/cancel`)).body.error_code).toBe('command_not_cancelable');
    const { body: goal } = await cloud.post<Posted>(COMMANDS, GOAL);
    expect((await cloud.post(`/commands/${goal.uuid}/cancel`)).status).toBe(202);
  });

  it('filter by state, interface and name, compared whole', async () => {
    const { body: topic } = await cloud.post<Posted>(COMMANDS, { ...TWIST, ttl_s: 60 });
    await cloud.post(COMMANDS, GOAL);
    const uuids = async (query: string) =>
      (await cloud.get<RobotCommand[]>(`${COMMANDS}?${query}`)).body.map(({ uuid }) => uuid);
    expect(await uuids('state=created')).toEqual([topic.uuid]);
    expect(await uuids('interface=topic')).toEqual([topic.uuid]);
    expect(await uuids('name=/cmd_vel')).toEqual([topic.uuid]);
    expect(await uuids('name=/cmd')).toEqual([]);
    expect(await uuids('state=no such state')).toEqual([]);
  });

  it('refuse a page over 16 MiB, naming limit, without reading it', async () => {
    const payload = { data: 'x'.repeat(1_000_000) };
    for (let count = 0; count < 17; count += 1) await cloud.post(COMMANDS, { ...TWIST, payload });
    const refused = await cloud.get('/commands');
    expect(refused).toMatchObject({ status: 413, body: { error_code: 'payload_too_large' } });
    expect(refused.body.details).toMatchObject([{ path: 'limit' }]);
    expect((await cloud.get('/commands?limit=16')).body).toHaveLength(16);
  });
});
