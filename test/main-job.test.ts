import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';

interface Point {
  uuid: string;
  stamp: string;
  source: string;
  type: string;
  payload: Record<string, unknown>;
}

const FIBONACCI = { interface: 'action_send_goal', name: '/fibonacci', type: 'example_interfaces/action/Fibonacci' };
const TWIST = { interface: 'topic', name: '/cmd_vel', type: 'geometry_msgs/msg/Twist' };

describe('the main job, through the API, on a simulated robot', () => {
  let cloud: TestCloud;
  let agent: TestAgent;

  beforeAll(async () => {
    cloud = await TestCloud.start();
    agent = await TestAgent.start({ url: cloud.url, token: await cloud.register('rover-1') });
    await cloud.online('rover-1');
  });

  afterAll(async () => {
    expect(await agent?.stop()).toBe(0);
    expect(await cloud?.stop()).toBe(0);
  });

  it('shows the robot as provisioned and online, with its agent’s version and vitals', async () => {
    const robot = await cloud.until<{ vitals: Record<string, number> }>('/robots/rover-1', (r) => r.vitals.cpu !== -1);
    expect(robot).toMatchObject({
      provisioned: true,
      online: true,
      agent_version: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    });
    for (const name of ['cpu', 'ram', 'disk']) expect(robot.vitals[name]).toBeGreaterThanOrEqual(0);
    const vitals = await cloud.get<Record<string, unknown>[]>('/robots/rover-1/vitals?latest_only=true');
    expect(vitals).toHaveLength(1);
  });

  it('publishes a Twist that moves the robot, as its /odom shows', async () => {
    await cloud.call('POST', '/robots/rover-1/streams', { source: '/odom', type: 'nav_msgs/msg/Odometry', hz: 5 });
    const outcome = await cloud.run('rover-1', { ...TWIST, payload: { linear: { x: 0.25 } } });
    expect(outcome).toMatchObject({ state: 'executed', error_code: null, result: { matched_subscribers: 1 } });
    await cloud.until<Point[]>('/robots/rover-1/data?source=/odom&limit=1', ([point]) => {
      const twist = (point?.payload.twist as { twist: { linear: { x: number } } } | undefined)?.twist;
      return twist?.linear.x === 0.25;
    });
  });

  it('gives the same point the same uuid and stamp as data and as log record', async () => {
    const [point] = await cloud.until<Point[]>(
      '/robots/rover-1/data?source=/odom&limit=1',
      (points) => points.length === 1,
    );
    const to = new Date(Date.parse(point?.stamp ?? '') + 1).toISOString();
    const from = new Date(Date.parse(point?.stamp ?? '') - 1).toISOString();
    const [record] = await cloud.get<Record<string, string>[]>(
      `/robots/rover-1/logs?source=%2Fodom&from=${from}&to=${to}&latest_only=true`,
    );
    expect(record).toMatchObject({ uuid: point?.uuid, stamp: point?.stamp, level: 'info', function: '', line: 0 });
    expect(JSON.parse(record?.msg ?? '')).toEqual(point?.payload);
  });

  it('calls a service and shows its response', async () => {
    const type = 'std_srvs/srv/SetBool';
    const outcome = await cloud.run('rover-1', {
      interface: 'service',
      name: '/enable_motors',
      type,
      payload: { data: true },
    });
    expect(outcome).toMatchObject({ state: 'executed', result: { success: true, message: expect.any(String) } });
  });

  it('sends a goal and shows its feedback while it runs and its result when it has ended', async () => {
    const { body } = await cloud.call<{ uuid: string }>('POST', '/robots/rover-1/commands', {
      ...FIBONACCI,
      payload: { order: 6 },
    });
    await cloud.until<{ state: string; feedback: unknown }>(`/commands/${body.uuid}/outcome`, (outcome) => {
      return outcome.state === 'sent' && outcome.feedback !== null;
    });
    const outcome = await cloud.outcome(body.uuid);
    expect(outcome).toMatchObject({ state: 'executed', result: { sequence: [0, 1, 1, 2, 3, 5, 8] } });
  });

  it('cancels a goal that runs', async () => {
    const { body } = await cloud.call<{ uuid: string }>('POST', '/robots/rover-1/commands', {
      ...FIBONACCI,
      payload: { order: 40 },
    });
    await cloud.until<{ feedback: unknown }>(`/commands/${body.uuid}/outcome`, (outcome) => outcome.feedback !== null);
    expect((await cloud.call('POST', `/commands/${body.uuid}/cancel`)).status).toBe(202);
    expect(await cloud.outcome(body.uuid)).toMatchObject({ state: 'error', error_code: 'goal_canceled' });
    expect(await cloud.call('POST', `/commands/${body.uuid}/cancel`)).toMatchObject({
      status: 409,
      body: { error_code: 'command_ended' },
    });
  });

  it('brings the robot’s log back with node, file, function and line', async () => {
    const { body } = await cloud.call('POST', '/robots/rover-1/commands', {
      interface: 'service',
      name: '/reset_odometry',
      type: 'std_srvs/srv/Trigger',
      payload: {},
    });
    expect(body).toMatchObject({ uuid: expect.any(String) });
    const records = await cloud.until<Record<string, unknown>[]>(
      '/robots/rover-1/logs?source=%2Frosout',
      (r) => r.length > 0,
    );
    expect(Object.keys(records[0] ?? {}).sort()).toEqual([
      'file',
      'function',
      'level',
      'line',
      'msg',
      'name',
      'stamp',
      'uuid',
    ]);
    expect(records[0]).toMatchObject({ level: expect.stringMatching(/^(info|warn|error|fatal)$/) });
    const config = await cloud.get('/robots/rover-1/logs/config');
    expect(config).toMatchObject({ enabled: true, num_recordings: expect.any(Number) });
  });

  it('samples /counter at 5 Hz and stops when the stream is disabled', async () => {
    const path = '/robots/rover-1/streams';
    await cloud.call('POST', path, { source: '/counter', type: 'std_msgs/msg/Int64', hz: 5 });
    const data = '/robots/rover-1/data?source=/counter&limit=1000';
    const points = await cloud.until<Point[]>(data, (found) => found.length >= 20);
    const stamps = points.map((point) => Date.parse(point.stamp)).reverse();
    const spanS = ((stamps.at(-1) ?? 0) - (stamps[0] ?? 0)) / 1000;
    // A simulated robot that stands still on a busy machine publishes less.
    expect((points.length - 1) / spanS).toBeGreaterThan(3);
    expect((points.length - 1) / spanS).toBeLessThan(5.5);
    const values = points.map((point) => Number(point.payload.data)).reverse();
    expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));

    expect((await cloud.call('PATCH', '/robots/rover-1/%2Fcounter', { enabled: false, hz: 5 })).status).toBe(200);
    const recordings = async () =>
      (await cloud.get<{ source: string; num_recordings: number }[]>(path)).find((s) => s.source === '/counter')
        ?.num_recordings;
    await cloud.until('/robots/rover-1', () => agent.process.lines.some((line) => /stream stops/.test(line.msg)));
    const settled = await recordings();
    expect(settled).toBeGreaterThanOrEqual(20);
  });

  it.each([
    ['an unknown type', { ...TWIST, type: 'geometry_msgs/msg/Twirl', payload: {} }, 'invalid_type', 'Twirl'],
    [
      'a wrong payload, by its path',
      { ...TWIST, payload: { linear: { x: 'fast' } } },
      'invalid_payload',
      'payload.linear.x',
    ],
    ['a field that the type has not', { ...TWIST, payload: { lineal: {} } }, 'invalid_payload', 'lineal'],
    [
      'a missing service',
      { interface: 'service', name: '/nope', type: 'std_srvs/srv/Trigger', payload: {} },
      'service_not_ready',
      '/nope',
    ],
    ['a missing action server', { ...FIBONACCI, name: '/nope', payload: {} }, 'action_server_not_ready', '/nope'],
    ['a goal that aborts', { ...FIBONACCI, payload: { order: -1 } }, 'goal_aborted', ''],
    ['a goal that takes too long', { ...FIBONACCI, payload: { order: 40 }, timeout_s: 0.5 }, 'timeout', ''],
  ])('ends %s with its own error', async (_name, command, errorCode, words) => {
    const outcome = await cloud.run('rover-1', command);
    expect(outcome).toMatchObject({
      state: 'error',
      error_code: errorCode,
      error_message: expect.stringContaining(words),
    });
  });

  it('refuses what is wrong on its face with a 400 that names the field', async () => {
    const post = (body: unknown) => cloud.call('POST', '/robots/rover-1/commands', body);
    const fine = { ...TWIST, payload: {} };
    for (const [body, path] of [
      [{ ...fine, interface: 'parameter' }, 'interface'],
      [{ ...fine, type: 'std_srvs/srv/Trigger' }, 'type'],
      [{ ...fine, name: 'cmd vel' }, 'name'],
      [{ ...fine, payload: [] }, 'payload'],
      [{ ...fine, speed: 1 }, 'speed'],
      [{ ...fine, ttl_s: -1 }, 'ttl_s'],
    ] as const) {
      const answer = await post(body);
      expect(answer).toMatchObject({ status: 400, body: { error_code: 'invalid_request', details: [{ path }] } });
    }
  });

  it('tells an unknown robot, an unprovisioned one and an offline one apart', async () => {
    const command = { ...TWIST, payload: {} };
    expect(await cloud.call('POST', '/robots/nobody/commands', command)).toMatchObject({
      status: 404,
      body: { error_code: 'robot_not_found' },
    });
    const token = await cloud.register('rover-2');
    expect(await cloud.run('rover-2', command)).toMatchObject({ state: 'error', error_code: 'robot_not_provisioned' });
    const second = await TestAgent.start({ url: cloud.url, token });
    await cloud.online('rover-2');
    await second.stop();
    await cloud.online('rover-2', false);
    expect(await cloud.run('rover-2', command)).toMatchObject({ state: 'error', error_code: 'robot_not_online' });
  });

  it('makes one command of two requests with one idempotency-key, also when they come at once', async () => {
    const send = (payload: unknown) =>
      cloud.call<{ uuid: string }>(
        'POST',
        '/robots/rover-1/commands',
        { ...TWIST, payload },
        { 'idempotency-key': 'once' },
      );
    const answers = await Promise.all([send({}), send({}), send({})]);
    expect(new Set(answers.map((answer) => answer.body.uuid)).size).toBe(1);
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 200, 201]);
    expect(await send({ linear: { x: 1 } })).toMatchObject({
      status: 409,
      body: { error_code: 'idempotency_conflict' },
    });
  });

  it('refuses a wrong robot token: the agent says so and goes on trying, the cloud goes on', async () => {
    const stranger = await TestAgent.start({ url: cloud.url, token: 'drt_this-is-nobodys-token' });
    await stranger.process.line((line) => /token/.test(line.msg));
    expect(await stranger.stop()).toBe(0);
    expect(await cloud.call('GET', '/robots', undefined, { 'svc-api-key': 'wrong' })).toMatchObject({
      status: 401,
      body: { error_code: 'unauthenticated' },
    });
  });
});
