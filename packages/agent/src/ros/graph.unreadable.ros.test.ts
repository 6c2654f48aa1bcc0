import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { RosError, type RosGraph } from './graph.js';
import { createRclnodejsGraph } from './rclnodejs/graph.js';
import { type RclpyPeer, startRclpyPeer } from './testing/rclpy-peer.js';
import { describeRos } from './testing/ros.js';

const DOMAIN_ID = 38;
const FIBONACCI = 'test_msgs/action/Fibonacci';
/** Definitions of another version than the one that runs: each has a field that no message on the wire has. */
const OTHER_VERSION = {
  'std_srvs/srv/SetBool.srv': 'bool data\n---\nbool success\nstring message\nfloat64[4] more\n',
  'test_msgs/action/Fibonacci.action':
    'int32 order\n---\nint32[] sequence\nfloat64[4] more\n---\nint32[] sequence\nfloat64[4] more\n',
};

/** What comes in is handled where ROS calls us: nothing thrown there may end the spinning, or the process. */
describeRos('the spinning of the agent', () => {
  let prefix: string;
  let peer: RclpyPeer;
  let outdated: RosGraph;
  let graph: RosGraph;
  const lost: string[] = [];

  beforeAll(async () => {
    process.env.ROS_AUTOMATIC_DISCOVERY_RANGE = 'LOCALHOST';
    prefix = mkdtempSync(join(tmpdir(), 'drover-ament-'));
    for (const [path, text] of Object.entries(OTHER_VERSION)) {
      const file = join(prefix, 'share', path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    peer = await startRclpyPeer({ domainId: DOMAIN_ID });
    const log = { warn: (_: object, message: string) => void lost.push(message) };
    const env = { ...process.env, AMENT_PREFIX_PATH: `${prefix}${delimiter}${process.env.AMENT_PREFIX_PATH}` };
    outdated = createRclnodejsGraph({ domainId: DOMAIN_ID, log, env });
    graph = createRclnodejsGraph({ domainId: DOMAIN_ID, log });
    await outdated.start();
    await graph.start();
    await peer.serveSetBool('/set_bool');
    await peer.serveEcho('/echo', 'test_msgs/srv/Empty');
    await peer.serveFibonacci('/fibonacci', { stepMs: 30 });
  });
  afterAll(async () => {
    await outdated?.stop();
    await graph?.stop();
    await peer?.stop();
    rmSync(prefix, { recursive: true, force: true });
  });

  afterEach(async () => {
    const request = { service: '/echo', type: 'test_msgs/srv/Empty', request: {} };
    for (const one of [outdated, graph]) {
      expect(await one.call({ ...request, readyTimeoutMs: 5000, timeoutMs: 5000 })).toEqual({});
    }
    lost.length = 0;
  });

  const goal = (goalId: Uint8Array, onFeedback: () => void) => {
    const timeouts = { readyTimeoutMs: 5000, acceptTimeoutMs: 5000 };
    return { action: '/fibonacci', type: FIBONACCI, goalId, goal: { order: 6 }, ...timeouts, onFeedback };
  };

  it('goes on after an answer of a service that can not be read, which is an error of that call alone', async () => {
    const request = { service: '/set_bool', type: 'std_srvs/srv/SetBool', request: { data: true } };
    const call = { ...request, readyTimeoutMs: 5000, timeoutMs: 5000 };
    for (let count = 0; count < 3; count += 1) await expect(outdated.call(call)).rejects.toBeInstanceOf(RosError);
    expect(await graph.call(call)).toMatchObject({ success: true });
    expect(await peer.callsAsked('/set_bool')).toBe(4);
  });

  it('goes on after feedback and a result that can not be read', async () => {
    let heard = 0;
    const handle = await outdated.sendGoal(
      goal(randomBytes(16), () => {
        heard += 1;
      }),
    );
    await expect(handle.result).rejects.toBeInstanceOf(RosError);
    expect(heard).toBe(0);
    expect(lost).toContain('feedback of a goal was lost');
  });

  it('goes on after a handler that throws at the feedback of a goal taken up again', async () => {
    const goalId = randomBytes(16);
    const sent = await outdated.sendGoal(goal(goalId, () => {}));
    sent.result.catch(() => {});
    let thrown = 0;
    const resumed = await graph.resumeGoal(
      goal(goalId, () => {
        thrown += 1;
        throw new Error('from a feedback callback');
      }),
    );
    expect(await resumed.result).toMatchObject({ status: 'succeeded' });
    expect(thrown).toBeGreaterThan(0);
  });
});
