/** What commands cost the disk: commits counted in the write-ahead log, with a robot's session on a real websocket. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Peer } from '../gateway/test-peer.js';
import { hello } from '../gateway/test-peer.js';
import { commitsIn } from '../testing/commits.js';
import { type ConnectedCloud, startConnectedCloud } from '../testing/connected-cloud.js';

const TWIST = { interface: 'topic', name: '/cmd_vel', type: 'geometry_msgs/msg/Twist', payload: { linear: { x: 1 } } };

describe('the commits that commands cost', () => {
  let cloud: ConnectedCloud;
  let token: string;
  let peer: Peer;

  beforeEach(async () => {
    cloud = await startConnectedCloud();
    token = (await cloud.robot('rover-1')).token;
    peer = (await cloud.connect(token)).peer;
    // What a session tells of itself is written beside; let that be over.
    await cloud.services.links.stop();
    await cloud.services.streamReports.stop();
  });

  afterEach(async () => {
    vi.useRealTimers();
    await cloud.stop();
  });

  const post = () => cloud.post<{ uuid: string }>('/robots/rover-1/commands', TWIST);
  const stateOf = async (uuid: string) => (await cloud.get<{ state: string }>(`/commands/${uuid}/outcome`)).body.state;
  const take = (uuid: string, seq: number) => peer.say({ kind: 'command_taken', uuid, seq, inbox_version: seq });
  const end = (uuid: string) =>
    peer.say({
      kind: 'command_outcome',
      uuid,
      ...{ state: 'executed', error_code: null, message: null, result: null, feedback: null },
      finished_robot_ms: cloud.clock.nowMs,
    });

  it('are two: with its POST, and with its outcome', async () => {
    // That it was taken waits for others to be written with, and no longer than a busy machine may take to tell of its end.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const before = commitsIn(cloud.dataDir);
    for (let seq = 1; seq <= 10; seq += 1) {
      const { uuid } = (await post()).body;
      expect((await peer.next('command')).uuid).toBe(uuid);
      take(uuid, seq);
      end(uuid);
      await peer.next('outcome_ack');
      expect(await stateOf(uuid)).toBe('executed');
    }
    expect(commitsIn(cloud.dataDir) - before).toBe(20);
  });

  it('are shared by those that come together, each way', async () => {
    const before = commitsIn(cloud.dataDir);
    const robot = await cloud.services.robots.find((await cloud.services.tenants.findKey('default')) ?? 0, 'rover-1');
    const request = { ...TWIST, interface: 'topic', timeoutMs: 10_000, ttlMs: 0, latched: false } as const;
    const refused = () => new Error('queue full');
    const made = await Promise.all(
      Array.from({ length: 32 }, () => cloud.services.commands.post(robot, request, { refused })),
    );
    expect(commitsIn(cloud.dataDir) - before).toBe(1);
    const delivered: string[] = [];
    while (delivered.length < made.length) delivered.push((await peer.next('command')).uuid);
    expect(delivered).toEqual(made.map(({ uuid }) => uuid));
  });

  it('do not keep `sent` from being shown while a command runs', async () => {
    const { uuid } = (await post()).body;
    take(uuid, 1);
    while ((await stateOf(uuid)) !== 'sent') await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it('come before what the next session says of its inbox, though nobody waits for that a command was taken', async () => {
    const { uuid } = (await post()).body;
    await peer.next('command');
    take(uuid, 1);
    peer.say({ kind: 'clock_request', robot_sent_ms: 1, measured: null });
    await peer.next('clock_reply');
    // The same inbox, from before it took the command.
    const { peer: restored, welcome } = await connectSaying({ last_seq: 0 });
    expect(welcome.inbox).toBe('stale');
    expect(await stateOf(uuid)).toBe('error');
    expect(restored.unread).not.toContain('command');
  });

  async function connectSaying(inbox: { last_seq: number }) {
    const restored = cloud.peer(token);
    await new Promise((resolve) => restored.socket.once('open', resolve));
    restored.say(hello(inbox));
    return { peer: restored, welcome: await restored.next('welcome') };
  }
});
