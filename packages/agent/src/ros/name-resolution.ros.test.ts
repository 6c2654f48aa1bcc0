import { execFileSync } from 'node:child_process';
import { decodeCdr, encodeCdr } from '@drover/shared/ros/cdr';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RosGraph } from './graph.js';
import { NAMING_CASES } from './name-resolution.fixture.js';
import { NameResolver } from './name-resolution.js';
import { createRclnodejsGraph } from './rclnodejs/graph.js';
import { type RclpyPeer, startRclpyPeer } from './testing/rclpy-peer.js';
import { describeRos } from './testing/ros.js';

const DOMAIN_ID = 37;
const INT64 = 'std_msgs/msg/Int64';
const SET_BOOL = 'std_srvs/srv/SetBool';

/** Resolves each case's names as topics and as services of a node that has its namespace and remaps. */
const RESOLVE = `
import json, sys
import rclpy
from rclpy.node import Node

rclpy.init(args=[])
resolved = []
for case in json.loads(sys.argv[1]):
    remaps = [word for rule in case['remaps'] for word in ('-r', rule)]
    args = {'use_global_arguments': False, 'enable_rosout': False, 'start_parameter_services': False}
    node = Node('drover_agent', namespace=case['namespace'], cli_args=['--ros-args', *remaps], **args)
    for resolve in (node.resolve_topic_name, node.resolve_service_name):
        resolved.append({name: resolve(name) for name in case['names']})
    node.destroy_node()
print(json.dumps(resolved))
`;

describeRos('names on real ROS', () => {
  it('are resolved and remapped as rclpy does it, for topics and for services', () => {
    const { LD_PRELOAD: _, ...env } = process.env;
    const python = process.env.DROVER_TEST_PYTHON ?? 'python3';
    const said = execFileSync(python, ['-c', RESOLVE, JSON.stringify(NAMING_CASES)], {
      env: { ...env, ROS_DOMAIN_ID: String(DOMAIN_ID), ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST' },
      encoding: 'utf8',
    });
    expect(JSON.parse(said)).toEqual(NAMING_CASES.flatMap(({ names }) => [names, names]));
  });
});

describeRos('an agent in a namespace', () => {
  let peer: RclpyPeer;
  let graph: RosGraph;
  const names = new NameResolver('/fleet/r1', [{ from: 'odom', to: '/wheel/odom' }]);

  beforeAll(async () => {
    process.env.ROS_AUTOMATIC_DISCOVERY_RANGE = 'LOCALHOST';
    peer = await startRclpyPeer({ domainId: DOMAIN_ID });
    graph = createRclnodejsGraph({ domainId: DOMAIN_ID, names, log: { warn() {} } });
    await graph.start();
  });
  afterAll(async () => {
    await graph?.stop();
    await peer?.stop();
  });

  const schemaOf = async (type: string) => {
    const definition = await graph.describe(type);
    if (definition.kind !== 'msg') throw new TypeError(`${type} is no message`);
    return definition.message;
  };

  it('is a node of it, which publishes, calls and receives under the names it resolves', async () => {
    const received = await peer.subscribe({ topic: '/fleet/r1/count', type: INT64 });
    await peer.serveSetBool('/fleet/r1/drover_agent/motors');
    const publisher = await peer.advertise({ topic: '/wheel/odom', type: INT64 });
    const schema = await schemaOf(INT64);

    const cdr = encodeCdr(schema, { data: 7n });
    const topic = names.resolve('count');
    await graph.publish({ topic, type: INT64, cdr, latched: false, matchTimeoutMs: 5000 });
    expect(await received.next()).toEqual({ data: 7 });

    const service = names.resolve('~/motors');
    const call = { service, type: SET_BOOL, request: { data: true }, readyTimeoutMs: 5000, timeoutMs: 5000 };
    expect(await graph.call(call)).toMatchObject({ success: true });

    const heard = new Promise<unknown>((resolve, reject) => {
      const onMessage = (bytes: Uint8Array) => resolve(decodeCdr(schema, bytes).data);
      graph.subscribe({ topic: names.resolve('odom'), type: INT64, drainHz: 20, depth: 5, onMessage }).catch(reject);
    });
    await publisher.matched();
    await publisher.publish({ data: 8 });
    expect(await heard).toBe(8n);

    const { nodes, topics } = await graph.survey();
    expect(nodes).toContain('/fleet/r1/drover_agent');
    const readers = topics.find(({ name }) => name === '/wheel/odom')?.subscribers.map(({ node }) => node);
    expect(readers).toEqual([expect.stringMatching(/^\/fleet\/r1\/_drover_agent_reader_\d+$/)]);
  });
});
