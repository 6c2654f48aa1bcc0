import type { RobotGraph } from '@drover/shared/api/graph';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RclpyPeer } from '../packages/agent/src/ros/testing/rclpy-peer.js';
import { describeRos } from '../packages/agent/src/ros/testing/ros.js';
import type { TestCloud } from './support/cloud.js';
import { type OnRos, startOnRos } from './support/on-ros.js';
import { addStream } from './support/streams.js';

const ROS_DOMAIN_ID = 22;

const ODOMETRY = 'nav_msgs/msg/Odometry';
const SET_BOOL = 'std_srvs/srv/SetBool';
const FIBONACCI = 'test_msgs/action/Fibonacci';

interface Part {
  definition: string;
  example: object;
  json_schema: object;
}

describeRos('graph, types and dry runs, through the API, on real ROS 2 with rclpy at the other end', () => {
  let system: OnRos;
  let cloud: TestCloud;
  let peer: RclpyPeer;

  beforeAll(async () => {
    system = await startOnRos({ domainId: ROS_DOMAIN_ID });
    ({ cloud, peer } = system);
    await peer.serveSetBool('/motors');
    await peer.serveFibonacci('/fibonacci');
  });

  afterAll(async () => {
    await system?.stop();
  });

  const topic = async (name: string, satisfied: (topic: RobotGraph['topics'][number]) => boolean) => {
    const find = (graph: RobotGraph) => graph.topics.find((entry) => entry.name === name);
    const graph = await cloud.until<RobotGraph>('/robots/rover-1/graph', (body) => {
      const found = find(body);
      return found !== undefined && satisfied(found);
    });
    return find(graph);
  };
  const check = async (command: object) => {
    const { status, body } = await cloud.call<{
      ok: boolean;
      checks: { name: string; ok: boolean; message: string }[];
    }>('POST', '/robots/rover-1/commands/check', command);
    expect(status).toBe(200);
    return { ok: body.ok, failed: body.checks.filter(({ ok }) => !ok).map(({ name, message }) => [name, message]) };
  };
  const saying = (text: string) => expect.stringContaining(text);

  it('shows each end of a topic with the QoS that rclpy has set', async () => {
    const limits = { deadline: 1.25, lifespan: 2, liveliness_lease_duration: 3 };
    await peer.advertise({
      topic: '/odom',
      type: ODOMETRY,
      reliability: 'best_effort',
      liveliness: 'manual_by_topic',
      ...limits,
    });
    await peer.advertise({ topic: '/odom', type: ODOMETRY, durability: 'transient_local' });
    await peer.subscribe({ topic: '/odom', type: ODOMETRY, durability: 'transient_local' });
    // ROS tells whose an end is a moment after the end itself.
    const odom = await topic('/odom', ({ publishers, subscribers }) => {
      const ends = [...publishers, ...subscribers];
      return ends.length === 3 && ends.every(({ node }) => node !== null);
    });
    const end = { node: '/peer', type: ODOMETRY };
    const unlimited = { deadline_s: null, lifespan_s: null, liveliness: 'automatic', liveliness_lease_s: null };
    expect(odom?.types).toEqual([ODOMETRY]);
    expect(odom?.publishers).toHaveLength(2);
    expect(odom?.publishers).toContainEqual({
      ...end,
      qos: expect.objectContaining({
        reliability: 'best_effort',
        durability: 'volatile',
        deadline_s: 1.25,
        lifespan_s: 2,
        liveliness: 'manual_by_topic',
        liveliness_lease_s: 3,
      }),
    });
    const latched = {
      ...end,
      qos: expect.objectContaining({ ...unlimited, reliability: 'reliable', durability: 'transient_local' }),
    };
    expect(odom?.publishers).toContainEqual(latched);
    expect(odom?.subscribers).toEqual([latched]);
  });

  it('shows nodes, and services and actions with who serves them', async () => {
    const graph = await cloud.until<RobotGraph>('/robots/rover-1/graph', ({ nodes }) => nodes.includes('/peer'));
    expect(graph.nodes).toEqual(['/drover_agent', '/peer']);
    expect(graph.services).toContainEqual({
      name: '/motors',
      types: [SET_BOOL],
      servers: [{ node: '/peer', type: SET_BOOL }],
    });
    expect(graph.actions).toEqual([
      { name: '/fibonacci', types: [FIBONACCI], servers: [{ node: '/peer', type: FIBONACCI }] },
    ]);
    const names = [...graph.topics, ...graph.services, ...graph.actions].map(({ name }) => name);
    expect(names.filter((name) => name.includes('/_'))).toEqual([]);
  });

  it('shows types as they are installed, with examples that ROS takes', async () => {
    const shown = await cloud.get<{ message: Part }>('/robots/rover-1/interfaces/geometry_msgs/msg/Twist');
    expect(shown.message.definition).toContain('# This expresses velocity in free space');
    const subscription = await peer.subscribe({ topic: '/cmd_vel', type: 'geometry_msgs/msg/Twist' });
    const { example: payload } = shown.message;
    const command = { interface: 'topic', name: '/cmd_vel', type: 'geometry_msgs/msg/Twist', payload };
    expect(await cloud.run('rover-1', command)).toMatchObject({
      state: 'executed',
      result: { matched_subscribers: 1 },
    });
    expect(await subscription.next()).toEqual(payload);
    const arrays = await cloud.get<{ request: Part }>('/robots/rover-1/interfaces/test_msgs/srv/Arrays');
    expect(new Ajv2020().compile(arrays.request.json_schema)(arrays.request.example)).toBe(true);
    expect(await cloud.call('GET', '/robots/rover-1/interfaces/std_msgs/msg/Strin')).toMatchObject({
      status: 404,
      body: { error_code: 'not_found', message: saying('did you mean std_msgs/msg/String?') },
    });
  });

  it('tries commands dry and leaves nothing on the graph', async () => {
    const motors = { interface: 'service', name: '/motors', type: SET_BOOL, payload: { data: true } };
    const fibonacci = { interface: 'action_send_goal', name: '/fibonacci', type: FIBONACCI, payload: { order: 2 } };
    const before = await cloud.get<RobotGraph>('/robots/rover-1/graph');
    expect(await check(motors)).toEqual({ ok: true, failed: [] });
    expect(await check(fibonacci)).toEqual({ ok: true, failed: [] });
    expect((await check({ ...motors, type: 'std_srvs/srv/Trigger', payload: {} })).failed).toEqual([
      ['server_there', saying(`there is one of type ${SET_BOOL}`)],
    ]);
    expect((await check({ ...fibonacci, type: 'test_msgs/action/NestedMessage', payload: {} })).failed).toEqual([
      ['server_there', saying(`there is one of type ${FIBONACCI}`)],
    ]);
    const latched = { interface: 'topic', name: '/odom', type: ODOMETRY, payload: {} };
    expect((await check(latched)).failed).toEqual([['subscribers_there', saying('/peer asks for transient local')]]);
    expect(await check({ ...latched, latched: true })).toEqual({ ok: true, failed: [] });
    expect((await check({ ...latched, name: '/nobody' })).failed).toEqual([['subscribers_there', saying('/nobody')]]);
    expect(await cloud.get('/robots/rover-1/graph')).toEqual(before);
  });

  it('says that a command can not be sent where a stream has the topic as another type', async () => {
    await peer.subscribe({ topic: '/taken', type: 'geometry_msgs/msg/Twist' });
    const command = { interface: 'topic', name: '/taken', type: 'geometry_msgs/msg/Twist', payload: {} };
    await topic('/taken', ({ subscribers }) => subscribers.length === 1);
    expect(await check(command)).toEqual({ ok: true, failed: [] });
    await addStream(cloud, '/taken', 'std_msgs/msg/String', 1);
    await topic(
      '/taken',
      ({ subscribers }) => subscribers.length === 2 && subscribers.every(({ node }) => node !== null),
    );
    expect((await check(command)).failed).toEqual([['subscribers_there', saying('delete that stream')]]);
  });

  it('names the type that is there where a command finds no server of its own', async () => {
    const command = { interface: 'service', name: '/motors', type: 'std_srvs/srv/Trigger', payload: {} };
    expect(await cloud.run('rover-1', command)).toMatchObject({
      error_code: 'service_not_ready',
      error_message: saying(`there is one of type ${SET_BOOL}`),
    });
  });
});
