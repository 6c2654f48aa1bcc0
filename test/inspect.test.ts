import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';

interface Checked {
  ok: boolean;
  checks: { name: string; ok: boolean; message: string }[];
}

const TWIST = { interface: 'topic', name: '/cmd_vel', type: 'geometry_msgs/msg/Twist' };
const MOTORS = { interface: 'service', name: '/enable_motors', type: 'std_srvs/srv/SetBool' };
const FIBONACCI = { interface: 'action_send_goal', name: '/fibonacci', type: 'example_interfaces/action/Fibonacci' };

const POLICY = `
policy:
  topics:
    deny:
      - { match: "/arm/**", rule: no-arm-from-afar }
  services:
    allow:
      - /enable_motors
      - /reset_odometry
      - /nobody
`;

/** Looking at a robot without touching it, through the API. */
describe('graph, types and dry runs, on a simulated robot with a policy', () => {
  let cloud: TestCloud;
  let agent: TestAgent;
  let dir: string;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'drover-policy-'));
    const config = join(dir, 'agent.yaml');
    writeFileSync(config, POLICY, { mode: 0o600 });
    cloud = await TestCloud.start();
    const token = await cloud.register('rover-1');
    agent = await TestAgent.start({ url: cloud.url, token, env: { DROVER_CONFIG: config } });
    await cloud.online('rover-1');
    await cloud.register('rover-2');
  });

  afterAll(async () => {
    rmSync(dir, { recursive: true, force: true });
    expect(await cloud?.stop()).toBe(0);
  });

  const check = async (command: object, robot = 'rover-1') => {
    const { status, body } = await cloud.call<Checked>('POST', `/robots/${robot}/commands/check`, command);
    expect(status).toBe(200);
    const failed = body.checks.filter(({ ok }) => !ok);
    expect(body.ok).toBe(failed.length === 0);
    return { names: body.checks.map(({ name }) => name), failed: failed.map(({ name, message }) => [name, message]) };
  };
  const saying = (text: string) => expect.stringContaining(text);

  it('finds nothing against commands that would work, of each interface', async () => {
    const names = (peers: string) => [
      ...['robot_provisioned', 'robot_online', 'type_known', 'payload_fits', 'name_resolves'],
      ...[peers, 'policy_allows'],
    ];
    expect(await check({ ...TWIST, payload: { linear: { x: 0.2 } } })).toEqual({
      names: names('subscribers_there'),
      failed: [],
    });
    expect(await check({ ...MOTORS, payload: { data: true } })).toEqual({ names: names('server_there'), failed: [] });
    expect(await check({ ...FIBONACCI, payload: { order: 3 } })).toEqual({ names: names('server_there'), failed: [] });
  });

  it('sends and stores nothing', async () => {
    await cloud.call('POST', '/robots/rover-1/streams', { source: '/odom', type: 'nav_msgs/msg/Odometry', hz: 20 });
    type Graph = { topics: { name: string; subscriber_count: number }[] };
    const before = await cloud.until<Graph>('/robots/rover-1/graph', ({ topics }) => {
      return topics.some(({ name, subscriber_count: count }) => name === '/odom' && count === 1);
    });
    await check({ ...TWIST, payload: { linear: { x: 7 } } });
    await check({ ...TWIST, name: '/never_seen', payload: {} });
    expect(await cloud.get('/robots/rover-1/commands')).toEqual([]);
    expect(await cloud.get('/robots/rover-1/graph')).toEqual(before);
    await cloud.run('rover-1', { ...TWIST, payload: { linear: { x: 0.5 } } });
    const speedOf = (point: { payload: { twist: { twist: { linear: { x: number } } } } }) =>
      point.payload.twist.twist.linear.x;
    const path = '/robots/rover-1/data?source=/odom&limit=1000';
    const points = await cloud.until<Parameters<typeof speedOf>[0][]>(path, (all) =>
      all.some((p) => speedOf(p) === 0.5),
    );
    expect(points.map(speedOf).filter((speed) => speed !== 0 && speed !== 0.5)).toEqual([]);
  });

  it.each([
    ['an unknown type', { ...TWIST, type: 'no_msgs/msg/No', payload: {} }, 'type_known', 'no_msgs/msg/No'],
    [
      'a payload that does not fit',
      { ...TWIST, payload: { linear: { x: 'fast' } } },
      'payload_fits',
      'payload.linear.x',
    ],
    ['no subscriber', { ...TWIST, name: '/nobody', payload: {} }, 'subscribers_there', 'nobody subscribes to /nobody'],
    [
      'a topic of another type',
      { ...TWIST, type: 'std_msgs/msg/String', payload: {} },
      'subscribers_there',
      'there is one of type geometry_msgs/msg/Twist',
    ],
    ['no server', { ...MOTORS, name: '/nobody', payload: {} }, 'server_there', 'no service server'],
    [
      'a service of another type',
      { ...MOTORS, type: 'std_srvs/srv/Trigger', payload: {} },
      'server_there',
      'there is one of type std_srvs/srv/SetBool',
    ],
    [
      'an action of another type',
      { ...FIBONACCI, type: 'test_msgs/action/NestedMessage', payload: {} },
      'server_there',
      'there is one of type example_interfaces/action/Fibonacci',
    ],
    ['what the policy denies', { ...TWIST, name: '/arm/left', payload: {} }, 'policy_allows', 'rule no-arm-from-afar'],
    ['what no rule allows', { ...MOTORS, name: '/shutdown', payload: {} }, 'policy_allows', 'policy.services.allow'],
  ])('finds %s', async (_, command, name, words) => {
    expect((await check(command)).failed).toContainEqual([name, saying(words)]);
  });

  it('refuses by the policy what it found refused, and tells of another type what it found there', async () => {
    const denied = await cloud.run('rover-1', { ...TWIST, name: 'arm/left', payload: {} });
    expect(denied).toMatchObject({
      error_code: 'not_allowed',
      error_message: saying('rule no-arm-from-afar (/arm/**)'),
    });
    const other = await cloud.run('rover-1', { ...MOTORS, type: 'std_srvs/srv/Trigger', payload: {} });
    const otherWords = 'there is one of type std_srvs/srv/SetBool';
    expect(other).toMatchObject({ error_code: 'service_not_ready', error_message: saying(otherWords) });
    const topic = await cloud.run('rover-1', { ...TWIST, type: 'std_msgs/msg/String', payload: {} });
    const topicWords = 'there is one of type geometry_msgs/msg/Twist';
    expect(topic).toMatchObject({ state: 'executed', error_message: saying(topicWords) });
  });

  it('says of a robot that never connected what takes the robot to know', async () => {
    const { failed } = await check({ ...TWIST, payload: {} }, 'rover-2');
    expect(failed[0]).toEqual(['robot_provisioned', saying('no agent has connected')]);
    expect(failed).toHaveLength(7);
    expect(await cloud.call('GET', '/robots/rover-2/graph')).toMatchObject({
      status: 503,
      body: { error_code: 'unavailable', message: saying('offline') },
    });
  });

  it('shows the graph: nodes, topics with QoS, services, actions', async () => {
    const graph = await cloud.get<Record<string, { name: string }[]>>('/robots/rover-1/graph');
    const of = (list: string, name: string) => graph[list]?.find((entry) => entry.name === name);
    expect(graph.nodes).toEqual(expect.arrayContaining(['/drover_agent', '/simulated_robot']));
    expect(of('topics', '/scan')).toMatchObject({
      types: ['sensor_msgs/msg/LaserScan'],
      publisher_count: 1,
      publishers: [{ node: '/simulated_robot', qos: { reliability: 'reliable', durability: 'volatile', depth: 10 } }],
    });
    expect(of('services', '/enable_motors')).toMatchObject({
      types: ['std_srvs/srv/SetBool'],
      servers: [{ node: '/simulated_robot' }],
    });
    expect(of('actions', '/fibonacci')).toMatchObject({
      servers: [{ node: '/simulated_robot', type: FIBONACCI.type }, {}],
    });
  });

  it('shows a type whose example the robot takes and whose JSON Schema takes the example', async () => {
    const shown = await cloud.get<{ message: { example: object; json_schema: object } }>(
      '/robots/rover-1/interfaces/geometry_msgs/msg/Twist',
    );
    const { example, json_schema: schema } = shown.message;
    expect(example).toEqual({ linear: { x: 0, y: 0, z: 0 }, angular: { x: 0, y: 0, z: 0 } });
    const validate = new Ajv2020().compile(schema);
    expect(validate(example)).toBe(true);
    expect(validate({ linear: { x: 'fast' } })).toBe(false);
    expect((await check({ ...TWIST, payload: example })).failed).toEqual([]);
    const goal = await cloud.get<{ goal: { example: object } }>(
      '/robots/rover-1/interfaces/example_interfaces/action/Fibonacci',
    );
    expect((await check({ ...FIBONACCI, payload: goal.goal.example })).failed).toEqual([]);
    expect(await cloud.call('GET', '/robots/rover-1/interfaces/std_msgs/msg/Nothing')).toMatchObject({
      status: 404,
      body: { error_code: 'not_found', message: saying('std_msgs/msg/Nothing') },
    });
  });

  it('answers for a robot that has gone offline', async () => {
    expect(await agent.stop()).toBe(0);
    await cloud.online('rover-1', false);
    const { failed } = await check({ ...TWIST, payload: {} });
    expect(failed[0]).toEqual(['robot_online', saying('offline')]);
    expect(failed).toHaveLength(6);
    expect(await cloud.call('GET', '/robots/rover-1/interfaces/std_msgs/msg/String')).toMatchObject({ status: 503 });
  });
});
