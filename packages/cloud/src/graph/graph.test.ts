import type { CommandCheck } from '@drover/shared/api/commands';
import { robotGraph, rosInterface } from '@drover/shared/api/graph';
import type { GraphAnswer } from '@drover/shared/link/answers';
import type { Answer, Question } from '@drover/shared/link/query';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';
import { NoAnswerError } from './no-answer.js';

const QOS = {
  reliability: 'best_effort',
  durability: 'volatile',
  history: 'unknown',
  depth: null,
  deadline_s: 0.5,
  lifespan_s: null,
  liveliness: 'automatic',
  liveliness_lease_s: null,
} as const;
const GRAPH: GraphAnswer = {
  nodes: ['/base', '/drover_agent'],
  topics: [
    {
      name: '/odom',
      types: ['nav_msgs/msg/Odometry'],
      publishers: [{ node: '/base', type: 'nav_msgs/msg/Odometry', qos: QOS }],
      subscribers: [],
    },
  ],
  services: [{ name: '/reset', types: ['std_srvs/srv/Trigger'], servers: [] }],
  actions: [],
};

let cloud: TestCloud;
let asked: Question[];
/** What the robot answers next. */
let reply: (question: Question) => Partial<Answer>;

beforeEach(async () => {
  asked = [];
  reply = () => ({ result: GRAPH });
  cloud = await startTestCloud({
    questions: {
      ask: async (_robotKey, question) => {
        asked.push(question);
        const id = '0194b6b0-3b1a-7cc0-8d7f-00000000000a';
        return { kind: 'answer', id, result: null, error: null, ...reply(question) };
      },
    },
  });
  await cloud.robot('rover-1');
});
afterEach(() => cloud.stop());

describe('GET /robots/{id}/graph', () => {
  it('shows what the robot sees, with counts', async () => {
    const { status, body } = await cloud.get('/robots/rover-1/graph');
    expect(status).toBe(200);
    expect(robotGraph.parse(body)).toMatchObject({
      nodes: GRAPH.nodes,
      topics: [{ name: '/odom', publisher_count: 1, subscriber_count: 0, publishers: [{ node: '/base', qos: QOS }] }],
      services: GRAPH.services,
    });
    expect(asked).toEqual([{ about: 'graph' }]);
  });

  it.each([
    ['offline', 'it is offline', 503, 'unavailable'],
    ['too_old', 'its agent is too old', 503, 'unavailable'],
    ['timeout', 'it did not answer within 10 s', 503, 'unavailable'],
    ['busy', '8 questions wait', 429, 'rate_limited'],
  ] as const)('says why there is no answer: %s', async (reason, words, status, code) => {
    reply = () => {
      throw new NoAnswerError(reason, words);
    };
    const answer = await cloud.get('/robots/rover-1/graph');
    expect(answer).toMatchObject({ status, body: { error_code: code, message: expect.stringContaining(words) } });
    expect(answer.body.message).toContain('rover-1');
    expect(answer.headers.get('retry-after')).toBe(status === 429 ? '1' : null);
  });

  it('passes on why the robot could not answer, and takes nothing for a graph that is none', async () => {
    reply = () => ({ error: { code: 'too_large', message: 'the answer is too long' } });
    expect(await cloud.get('/robots/rover-1/graph')).toMatchObject({
      status: 503,
      body: { error_code: 'unavailable', message: expect.stringContaining('the answer is too long') },
    });
    reply = () => ({ result: { nodes: 'many' } });
    expect(await cloud.get('/robots/rover-1/graph')).toMatchObject({ status: 503 });
  });

  it('is a 404 for a robot that is not there, and asks nobody', async () => {
    expect(await cloud.get('/robots/rover-9/graph')).toMatchObject({
      status: 404,
      body: { error_code: 'robot_not_found' },
    });
    expect(asked).toEqual([]);
  });
});

describe('GET /robots/{id}/interfaces/{pkg}/{kind}/{Name}', () => {
  const part = (type: string, text: string) => ({ type, text });

  it('shows a message with definition, fields, example and JSON Schema', async () => {
    const type = 'a_msgs/msg/Speed';
    reply = () => ({ result: { kind: 'msg', type, message: part(type, 'float64 x 0.5\nint64[<=2] ids\n') } });
    const { status, body } = await cloud.get(`/robots/rover-1/interfaces/${type}`);
    expect(status).toBe(200);
    expect(rosInterface.parse(body)).toMatchObject({
      type,
      kind: 'msg',
      message: {
        type,
        definition: 'float64 x 0.5\nint64[<=2] ids\n',
        fields: [
          { name: 'x', type: 'float64', array: null, default: 0.5, fields: null },
          { name: 'ids', type: 'int64', array: { length: null, length_max: 2 } },
        ],
        example: { x: 0.5, ids: [] },
        json_schema: { title: type, properties: { ids: { type: 'array', maxItems: 2 } } },
      },
    });
    expect(asked).toEqual([{ about: 'interface', type }]);
  });

  it('shows the two parts of a service and the three of an action', async () => {
    const srv = 'a_msgs/srv/Set';
    const parts = { request: part(`${srv}_Request`, 'bool on\n'), response: part(`${srv}_Response`, '\n') };
    reply = () => ({ result: { kind: 'srv', type: srv, ...parts } });
    expect(rosInterface.parse((await cloud.get(`/robots/rover-1/interfaces/${srv}`)).body)).toMatchObject({
      request: { example: { on: false } },
      response: { example: {}, fields: [] },
    });
    const action = 'a_msgs/action/Go';
    const goal = { goal: part(`${action}_Goal`, 'int32 n\n'), result: part(`${action}_Result`, '\n') };
    reply = () => ({
      result: { kind: 'action', type: action, ...goal, feedback: part(`${action}_Feedback`, 'string s\n') },
    });
    expect(rosInterface.parse((await cloud.get(`/robots/rover-1/interfaces/${action}`)).body)).toMatchObject({
      goal: { example: { n: 0 } },
      feedback: { example: { s: '' } },
    });
  });

  it('is a 404 not_found for a type that the robot does not know, in the robot’s words', async () => {
    reply = () => ({ error: { code: 'unknown_type', message: 'no such ROS type here: a_msgs/msg/B' } });
    expect(await cloud.get('/robots/rover-1/interfaces/a_msgs/msg/B')).toMatchObject({
      status: 404,
      body: { error_code: 'not_found', message: 'robot rover-1: no such ROS type here: a_msgs/msg/B' },
    });
  });

  it('asks nobody about what is no type', async () => {
    expect(await cloud.get('/robots/rover-1/interfaces/a_msgs/msg/lower')).toMatchObject({ status: 400 });
    expect(await cloud.get('/robots/rover-1/interfaces/A/msg/B')).toMatchObject({ status: 400 });
    expect(await cloud.get('/robots/rover-1/interfaces/a_msgs/idl/B')).toMatchObject({
      status: 404,
      body: { error_code: 'not_found' },
    });
    expect(asked).toEqual([]);
  });

  it.each([
    ['another kind', { kind: 'msg', type: 'a_msgs/srv/B', message: part('a_msgs/srv/B', 'int8 x\n') }, 'a_msgs/srv/B'],
    ['another type', { kind: 'msg', type: 'a_msgs/msg/C', message: part('a_msgs/msg/C', 'int8 x\n') }, 'a_msgs/msg/B'],
    ['a part of another', { kind: 'msg', type: 'a_msgs/msg/B', message: part('no type', 'int8 x\n') }, 'a_msgs/msg/B'],
  ])('does not show an answer about %s as what was asked', async (_, result, type) => {
    reply = () => ({ result });
    expect(await cloud.get(`/robots/rover-1/interfaces/${type}`)).toMatchObject({
      status: 503,
      body: { error_code: 'unavailable', message: expect.stringContaining('does not understand') },
    });
  });

  it('says that a definition of the robot’s can not be read', async () => {
    reply = () => ({ result: { kind: 'msg', type: 'a_msgs/msg/B', message: part('a_msgs/msg/B', 'what is this?\n') } });
    expect(await cloud.get('/robots/rover-1/interfaces/a_msgs/msg/B')).toMatchObject({
      status: 503,
      body: { error_code: 'unavailable', message: expect.stringContaining('can not be read') },
    });
  });
});

describe('POST /robots/{id}/commands/check', () => {
  const drive = { interface: 'topic', name: 'cmd_vel', type: 'geometry_msgs/Twist', payload: { linear: { x: 1 } } };
  const FINE = ['type_known', 'payload_fits', 'name_resolves', 'subscribers_there', 'policy_allows'].map((name) => ({
    name,
    ok: true,
    message: '',
  }));
  const provision = async () => {
    const tenantKey = (await cloud.services.tenants.findKey('default')) ?? 0;
    const { key } = await cloud.services.robots.find(tenantKey, 'rover-1');
    await cloud.services.robots.sessionStarted(key, '2026-11-21');
  };
  const check = (body: object = drive) => cloud.post<CommandCheck>('/robots/rover-1/commands/check', body);

  it('puts what the cloud knows before what the robot finds, and sends nothing', async () => {
    await provision();
    reply = () => ({ result: { checks: FINE } });
    const { status, body } = await check();
    expect(status).toBe(200);
    expect(body).toEqual({
      ok: true,
      checks: [
        { name: 'robot_provisioned', ok: true, message: expect.any(String) },
        { name: 'robot_online', ok: true, message: expect.any(String) },
        ...FINE,
      ],
    });
    expect(asked).toEqual([{ about: 'check', ...drive, type: 'geometry_msgs/msg/Twist', latched: false }]);
    expect((await cloud.get('/robots/rover-1/commands')).body).toEqual([]);
  });

  it('is not ok where one check is not', async () => {
    await provision();
    reply = () => ({ result: { checks: [...FINE, { name: 'payload_fits', ok: false, message: 'no' }] } });
    expect((await check()).body).toMatchObject({ ok: false });
  });

  it('is not ok where the robot leaves one out', async () => {
    await provision();
    reply = () => ({ result: { checks: FINE.filter(({ name }) => name !== 'policy_allows') } });
    const { body } = await check();
    expect(body.ok).toBe(false);
    expect(body.checks.at(-1)).toEqual({ name: 'policy_allows', ok: false, message: 'the robot did not say' });
  });

  it('answers for a robot that is offline, and for one that was never there', async () => {
    reply = () => {
      throw new NoAnswerError('offline', 'it is offline');
    };
    const names = (body: CommandCheck) => body.checks.filter((c) => c.ok).map((c) => c.name);
    const never = await check();
    expect(never).toMatchObject({
      status: 200,
      body: { ok: false, checks: [{ name: 'robot_provisioned', ok: false }, {}, {}, {}, {}, {}, {}] },
    });
    expect(asked).toEqual([]);
    await provision();
    const offline = await check();
    expect(offline).toMatchObject({ status: 200, body: { ok: false } });
    expect(names(offline.body)).toEqual(['robot_provisioned']);
    expect(offline.body.checks[1]).toMatchObject({ name: 'robot_online', message: expect.stringContaining('ttl_s') });
    expect(offline.body.checks.map((c) => c.name)).toContain('subscribers_there');
  });

  it('is a 503 where the robot is online and can not be asked', async () => {
    await provision();
    reply = () => {
      throw new NoAnswerError('too_old', 'its agent is too old to be asked');
    };
    expect(await check()).toMatchObject({ status: 503, body: { message: expect.stringContaining('too old') } });
  });

  it.each([
    [{ ...drive, interface: 'radio' }],
    [{ ...drive, name: '/a b' }],
    [{ ...drive, type: 'std_srvs/srv/SetBool' }],
    [{ ...drive, colour: 'red' }],
    [{ ...drive, payload: [] }],
    [{ ...drive, interface: 'service', type: 'std_srvs/srv/SetBool', latched: true }],
  ])('refuses with 400 what the command itself would be refused with: %j', async (body) => {
    expect(await check(body)).toMatchObject({ status: 400, body: { error_code: 'invalid_request' } });
    expect(await cloud.post('/robots/rover-1/commands', body)).toMatchObject({ status: 400 });
    expect(asked).toEqual([]);
  });

  it('looks again each time, whatever idempotency-key it is given', async () => {
    await provision();
    reply = () => ({ result: { checks: FINE } });
    const headers = { 'idempotency-key': 'the-same' };
    for (const _ of [1, 2])
      expect((await cloud.post<CommandCheck>('/robots/rover-1/commands/check', drive, headers)).status).toBe(200);
    expect(asked).toHaveLength(2);
    // And the key is still free for the command.
    expect((await cloud.post('/robots/rover-1/commands', drive, headers)).status).toBe(201);
  });
});
