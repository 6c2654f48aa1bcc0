import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runnerOn } from '../commands/fixture.js';
import type { RosGraph } from './graph.js';
import { createRclnodejsGraph } from './rclnodejs/graph.js';
import { type RclpyPeer, startRclpyPeer } from './testing/rclpy-peer.js';
import { describeRos } from './testing/ros.js';

const DOMAIN_ID = 29;
const FILES = {
  'msg/Thing.msg': 'wstring name "thing"\ngeometry_msgs/Point[<=2] points\n',
  'msg/Other.idl': 'module own_msgs { module msg { struct Other { own_msgs::msg::Thing thing; }; }; };',
  'srv/Do.srv': 'own_msgs/Other other\n---\nbool done\n',
  'action/Go.action': 'int32 far\n---\n---\n',
};

/** Its definitions are there; the libraries, which a build of the package would make, are not. */
describeRos('a package on AMENT_PREFIX_PATH that rclnodejs was not built with', () => {
  const prefixes = process.env.AMENT_PREFIX_PATH;
  let prefix: string;
  let graph: RosGraph;
  let peer: RclpyPeer;

  beforeAll(async () => {
    process.env.ROS_AUTOMATIC_DISCOVERY_RANGE = 'LOCALHOST';
    prefix = mkdtempSync(join(tmpdir(), 'drover-ament-'));
    for (const [path, text] of Object.entries(FILES)) {
      const file = join(prefix, 'share/own_msgs', path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    peer = await startRclpyPeer({ domainId: DOMAIN_ID });
    process.env.AMENT_PREFIX_PATH = `${prefixes}${delimiter}${prefix}`;
    graph = createRclnodejsGraph({ domainId: DOMAIN_ID, log: { warn() {} } });
    await graph.start();
  });
  afterAll(async () => {
    process.env.AMENT_PREFIX_PATH = prefixes;
    await graph?.stop();
    await peer?.stop();
    rmSync(prefix, { recursive: true, force: true });
  });

  it('has its types described, whichever language they are in', async () => {
    expect(await graph.describe('own_msgs/srv/Do')).toMatchObject({ kind: 'srv' });
    expect(await graph.describe('own_msgs/action/Go')).toMatchObject({ kind: 'action' });
    expect(await graph.describe('own_msgs/msg/Other')).toMatchObject({
      message: { text: expect.stringContaining('wstring name "thing"') },
    });
  });

  it.each([
    ['topic', 'own_msgs/msg/Thing', {}],
    ['service', 'own_msgs/srv/Do', { other: { thing: { name: 'x' } } }],
    ['action_send_goal', 'own_msgs/action/Go', { far: 1 }],
  ] as const)(
    'a %s command of its type ends as invalid_type with the reason, and the agent goes on',
    async (kind, type, payload) => {
      const { run, stop } = runnerOn(graph);
      const outcome = await run({ interface: kind, name: `/own/${kind}`, type, payload });
      expect(outcome).toMatchObject({
        state: 'error',
        error_code: 'invalid_type',
        message: expect.stringContaining(type),
      });
      await peer.serveSetBool(`/alive/${kind}`);
      const alive = {
        interface: 'service',
        name: `/alive/${kind}`,
        type: 'std_srvs/srv/SetBool',
        payload: { data: true },
      } as const;
      expect(await run(alive)).toMatchObject({ state: 'executed' });
      await stop();
    },
  );

  it('and a payload of its type is checked all the same', async () => {
    const { run, stop } = runnerOn(graph);
    const payload = { thing: { points: [{}, {}, {}] } };
    expect(await run({ name: '/own/other', type: 'own_msgs/msg/Other', payload })).toMatchObject({
      error_code: 'invalid_payload',
      message: 'payload.thing.points: expected a list of at most 2 values, got one of 3',
    });
    await stop();
  });
});
