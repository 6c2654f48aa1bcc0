import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CloseCode, FRAME_BYTES_MAX, LINK_PATH, LINK_SUBPROTOCOL, YIELD_HEADER } from '@drover/shared/link/protocol';
import type { UpMessage } from '@drover/shared/link/up';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { InProcessBus } from '../bus/in-process.js';
import { Commands } from '../commands/commands.js';
import { findCommand } from '../commands/store.js';
import { openStore, type Store } from '../db/store.js';
import { type RobotRef, Robots } from '../robots/robots.js';
import { Gateway } from './gateway.js';
import { SessionRegistry } from './registry.js';
import { hello, NO_COMPOSE, NO_LINKS, Peer, SPOOL } from './test-peer.js';

const TWIST = {
  interface: 'topic',
  name: '/cmd_vel',
  type: 'geometry_msgs/msg/Twist',
  payload: { linear: { x: 1 } },
  timeoutMs: 10_000,
  ttlMs: 0,
  latched: false,
} as const;

describe('the gateway', () => {
  let dataDir: string;
  let store: Store;
  let server: Server;
  let gateway: Gateway;
  let commands: Commands;
  let robots: Robots;
  let registry: SessionRegistry;
  let bus: InProcessBus;
  let url: string;
  let token: string;
  let robot: RobotRef;
  let revision = 1;
  const peers: Peer[] = [];

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'drover-gateway-'));
    store = openStore({ dataDir, nowMs: Date.now() });
    const log = pino({ level: 'silent' });
    bus = new InProcessBus();
    registry = new SessionRegistry();
    robots = new Robots({ store, bus, now: Date.now });
    commands = new Commands({ store, bus, inboxes: registry, log, now: Date.now });
    const tenant = { tenantKey: 1, tenantUuid: uuidv7(), keyUuid: uuidv7(), scopes: new Set<never>() };
    await store.db
      .insertInto('tenants')
      .values({ key: 1, uuid: tenant.tenantUuid, name: 'one', created_at_ms: 0 })
      .execute();
    token = (await robots.create(tenant, { id: 'rover-1' })).token;
    robot = await robots.find(1, 'rover-1');
    gateway = new Gateway({
      registry,
      bus,
      robots,
      commands,
      streams: { reported: () => {} },
      links: NO_LINKS,
      compose: NO_COMPOSE,
      desired: {
        forRobot: async () => ({
          kind: 'desired',
          revision,
          vitals: { enabled: true, period_s: 5 },
          logs: { enabled: true, min_level: 'info' },
          streams: [],
          compose: null,
        }),
      },
      data: {
        write: async (_robot, batch) => batch.first_seq + batch.rows.length - 1,
        isBusy: false,
        resume: async () => ({ live: 7, backfill: 0 }),
      },
      log,
      now: Date.now,
      monotonicNow: () => performance.now(),
      timings: { helloTimeoutMs: 150, resetGraceMs: 150, startGraceMs: 150 },
    });
    await gateway.start();
    server = createServer().listen(0, '127.0.0.1');
    gateway.attach(server);
    await once(server, 'listening');
    url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}${LINK_PATH}`;
  });

  afterEach(async () => {
    for (const peer of peers.splice(0)) peer.socket.terminate();
    await gateway.stop();
    server.close();
    await store.close();
    rmSync(dataDir, { recursive: true });
  });

  function connect(withToken = token): Peer {
    const peer = new Peer(url, withToken);
    peers.push(peer);
    return peer;
  }

  async function connected(inbox: Parameters<typeof hello>[0] = {}): Promise<Peer> {
    const peer = connect();
    await once(peer.socket, 'open');
    peer.say(hello(inbox));
    await peer.next('welcome');
    await peer.next('desired');
    return peer;
  }

  async function post(request: Partial<Parameters<Commands['create']>[2]> = {}): Promise<string> {
    const made = await store.db.transaction().execute((tx) => commands.create(tx, robot, { ...TWIST, ...request }));
    if (!made) throw new Error('queue full');
    if (made.waits) commands.announce(robot.key);
    return made.uuid;
  }

  async function row(uuid: string) {
    const found = await findCommand(store.db, 1, uuid);
    if (!found) throw new Error(`no command ${uuid}`);
    return found;
  }

  async function until(done: () => Promise<boolean>): Promise<void> {
    while (!(await done())) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  const isOnline = async () => (await robots.get(1, 'rover-1')).online;

  function outcome(uuid: string, more: Partial<Extract<UpMessage, { kind: 'command_outcome' }>> = {}): UpMessage {
    return {
      kind: 'command_outcome',
      uuid,
      state: 'executed',
      error_code: null,
      message: null,
      result: { matched_subscribers: 1 },
      feedback: null,
      finished_robot_ms: Date.now(),
      ...more,
    };
  }

  async function refusedUpgrade(
    target: string,
    headers: Record<string, string>,
    protocols: string[] = [LINK_SUBPROTOCOL],
  ) {
    const socket = new WebSocket(target, protocols, { headers });
    socket.on('error', () => {});
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, import('node:http').IncomingMessage];
    const body = JSON.parse(Buffer.concat(await response.toArray()).toString());
    return { status: response.statusCode, body };
  }

  it('answers a bad token with 401, another path with 404 and a missing subprotocol with 400, before the upgrade', async () => {
    const auth = { authorization: `Bearer ${token}` };
    expect(await refusedUpgrade(url, { authorization: 'Bearer drt_nonsense' })).toMatchObject({
      status: 401,
      body: { error_code: 'unauthenticated' },
    });
    expect(await refusedUpgrade(url, {})).toMatchObject({ status: 401 });
    expect(await refusedUpgrade(`${url}/else`, auth)).toMatchObject({ status: 404 });
    expect(await refusedUpgrade(url, auth, [])).toMatchObject({ status: 400, body: { error_code: 'invalid_request' } });
  });

  it('greets a robot with what it holds of its spool, marks it provisioned and online, and sends its desired state', async () => {
    const peer = connect();
    await once(peer.socket, 'open');
    peer.say(hello());
    expect(await peer.next('welcome')).toMatchObject({ robot_id: 'rover-1', acked: { live: 7, backfill: 0 } });
    expect(await peer.next('desired')).toMatchObject({ revision });
    await until(isOnline);
    expect(await robots.get(1, 'rover-1')).toMatchObject({ provisioned: true, agent_version: '2026-11-21' });
  });

  it('sends a changed desired state once, the newest only', async () => {
    const peer = await connected();
    revision += 1;
    bus.publish('desired_changed', { robotKey: robot.key });
    bus.publish('desired_changed', { robotKey: robot.key });
    expect(await peer.next('desired')).toMatchObject({ revision });
    peer.say({ kind: 'clock_request', robot_sent_ms: 5, measured: null });
    expect(await peer.next('clock_reply')).toMatchObject({ robot_sent_ms: 5 });
    expect(peer.unread).toEqual([]);
  });

  it.each([
    ['a text frame', (peer: Peer) => peer.socket.send('hello'), CloseCode.unsupportedData],
    ['what is no MessagePack', (peer: Peer) => peer.socket.send(Buffer.from([0xc1])), CloseCode.badMessage],
    ['a message before hello', (peer: Peer) => peer.say({ kind: 'applied', revision: 1 }), CloseCode.badMessage],
    ['a frame over the bound', (peer: Peer) => peer.socket.send(Buffer.alloc(FRAME_BYTES_MAX + 1)), CloseCode.tooBig],
    ['a link version it does not serve', (peer: Peer) => peer.say({ ...hello(), link_version: 99 } as UpMessage), 4002],
    ['nothing for too long', () => {}, CloseCode.helloTimeout],
  ])('closes a session that sends %s, with its code, and goes on', async (_name, act, code) => {
    const peer = connect();
    await once(peer.socket, 'open');
    act(peer);
    expect((await peer.closed).code).toBe(code);
    await connected();
  });

  it('says to an agent that is too new that the cloud is what to update', async () => {
    const peer = connect();
    await once(peer.socket, 'open');
    peer.say({ ...hello(), link_version: 99 } as UpMessage);
    expect((await peer.closed).reason).toMatch(/^link version 99; this cloud serves 1 to \d+: update the cloud$/);
  });

  it('lets a newer session of the same robot take over, and the robot stays online throughout', async () => {
    const older = await connected();
    await until(isOnline);
    const { online_updated_at: since } = await robots.get(1, 'rover-1');
    await connected();
    expect(await older.closed).toMatchObject({ code: CloseCode.replaced });
    expect(await robots.get(1, 'rover-1')).toMatchObject({ online: true, online_updated_at: since });
  });

  it('takes a robot that yields only while no other session of it stands', async () => {
    const yielding = { authorization: `Bearer ${token}`, [YIELD_HEADER]: '1' };
    const other = await connected();
    expect(await refusedUpgrade(url, yielding)).toMatchObject({ status: 409, body: { error_code: 'robot_connected' } });
    expect(other.socket.readyState).toBe(WebSocket.OPEN);
    other.socket.close(1000);
    await until(async () => registry.size === 0);
    await once(new WebSocket(url, LINK_SUBPROTOCOL, { headers: yielding }), 'open');
  });

  it('counts a cleanly closed robot as offline at once, and a reset one as online for a moment', async () => {
    const first = await connected();
    await until(isOnline);
    first.socket.close(1000);
    await until(async () => !(await isOnline()));

    const second = await connected();
    await until(isOnline);
    second.socket.terminate();
    await until(async () => registry.size === 0);
    expect(await isOnline()).toBe(true);
    await until(async () => !(await isOnline()));
  });

  it('closes the session of a robot that was deleted or got a new token', async () => {
    const peer = await connected();
    await robots.remove(1, 'rover-1');
    expect((await peer.closed).code).toBe(CloseCode.revoked);
    expect(await refusedUpgrade(url, { authorization: `Bearer ${token}` })).toMatchObject({ status: 401 });
  });

  it('carries a command to the robot and its way back: created, sent, executed, acknowledged', async () => {
    const peer = await connected();
    const uuid = await post();
    const delivered = await peer.next('command');
    expect(delivered).toMatchObject({ uuid, name: '/cmd_vel', payload: { linear: { x: 1 } }, timeout_ms: 10_000 });
    expect(delivered.life_ms).toBeGreaterThan(0);
    expect(delivered.life_ms).toBeLessThanOrEqual(5_000);
    expect((await row(uuid)).state).toBe('created');
    peer.say({ kind: 'command_taken', uuid, seq: 1 });
    await until(async () => (await row(uuid)).state === 'sent');
    peer.say(outcome(uuid));
    expect(await peer.next('outcome_ack')).toEqual({ kind: 'outcome_ack', uuid });
    expect(await row(uuid)).toMatchObject({
      state: 'executed',
      result: '{"matched_subscribers":1}',
      ended_by: 'robot',
    });
  });

  it('takes the first outcome and acknowledges every one', async () => {
    const peer = await connected();
    const uuid = await post();
    await peer.next('command');
    peer.say(outcome(uuid));
    peer.say(outcome(uuid, { state: 'error', error_code: 'timeout', result: null }));
    await peer.next('outcome_ack');
    await peer.next('outcome_ack');
    expect(await row(uuid)).toMatchObject({ state: 'executed', error_code: null });
  });

  it('delivers a command that was written but not taken again, to the same inbox', async () => {
    const first = await connected();
    const uuid = await post();
    await first.next('command');
    first.socket.terminate();
    const second = await connected();
    expect(await second.next('command')).toMatchObject({ uuid });
  });

  it('never delivers a command to another inbox: its outcome is unknown, until the true one comes', async () => {
    const first = await connected();
    const uuid = await post();
    await first.next('command');
    first.socket.terminate();
    const second = await connected({ id: uuidv7() });
    await until(async () => (await row(uuid)).error_code === 'outcome_unknown');
    expect(second.unread).toEqual([]);
    second.say(outcome(uuid));
    await second.next('outcome_ack');
    expect(await row(uuid)).toMatchObject({ state: 'executed', error_code: null });
  });

  it('does not trust an inbox that was restored from an older copy with what it may have run already', async () => {
    const first = await connected({ last_seq: 3 });
    const uuid = await post();
    await first.next('command');
    first.say({ kind: 'command_taken', uuid, seq: 4 });
    await until(async () => (await row(uuid)).state === 'sent');
    first.socket.terminate();
    const second = await connected({ last_seq: 3 });
    await until(async () => (await row(uuid)).error_code === 'outcome_unknown');
    expect(second.unread).toEqual([]);
  });

  it('delivers what waits for an offline robot when it comes, in POST order', async () => {
    await (await connected()).socket.close(1000);
    await until(async () => !(await isOnline()) && registry.size === 0);
    const uuids = [await post({ ttlMs: 60_000 }), await post({ ttlMs: 60_000 }), await post({ ttlMs: 60_000 })];
    const peer = await connected();
    for (const uuid of uuids) expect(await peer.next('command')).toMatchObject({ uuid });
  });

  it('asks the robot to cancel a goal, also one that was sent on an earlier connection', async () => {
    const first = await connected();
    const uuid = await post({ interface: 'action_send_goal', name: '/fibonacci', type: 'test_msgs/action/Fibonacci' });
    await first.next('command');
    first.say({ kind: 'command_taken', uuid, seq: 1 });
    await until(async () => (await row(uuid)).state === 'sent');
    first.socket.terminate();
    expect(await commands.cancel(1, uuid)).toBe('canceled');
    const second = await connected({ last_seq: 1 });
    expect(await second.next('command_cancel')).toEqual({ kind: 'command_cancel', uuid });
  });

  it('stores the end of a command from a robot whose clock is off, at a time of ours', async () => {
    const peer = await connected();
    const offset_ms = -3_600_000.123;
    peer.say({ kind: 'clock_request', robot_sent_ms: 5, measured: { offset_ms, uncertainty_ms: 1 } });
    await peer.next('clock_reply');
    const uuid = await post();
    await peer.next('command');
    const endedMs = Date.now();
    peer.say(outcome(uuid, { finished_robot_ms: Math.round(endedMs - offset_ms) }));
    await peer.next('outcome_ack');
    expect(Math.abs(((await row(uuid)).finished_at_ms ?? 0) - endedMs)).toBeLessThanOrEqual(1);
  });

  it('stores the end of a command that was told before the clock was measured, by the clock of hello', async () => {
    const peer = connect();
    await once(peer.socket, 'open');
    peer.say({ ...hello(), robot_now_ms: 86_400_000 } as UpMessage);
    await peer.next('welcome');
    const uuid = await post();
    await peer.next('command');
    peer.say(outcome(uuid, { finished_robot_ms: 86_400_000 }));
    await peer.next('outcome_ack');
    const { created_at_ms: createdMs, finished_at_ms: finishedMs } = await row(uuid);
    expect(Math.abs((finishedMs ?? 0) - createdMs)).toBeLessThan(60_000);
  });

  it('keeps an action’s last feedback while it runs', async () => {
    const peer = await connected();
    const uuid = await post({ interface: 'action_send_goal', name: '/fibonacci', type: 'test_msgs/action/Fibonacci' });
    await peer.next('command');
    peer.say({ kind: 'command_taken', uuid, seq: 1 });
    peer.say({ kind: 'command_feedback', uuid, feedback: { sequence: [0, 1] } });
    await until(async () => (await row(uuid)).feedback === '{"sequence":[0,1]}');
  });

  it('acknowledges a batch only after it was written, with the sequence that is stored', async () => {
    const peer = await connected();
    const vital = { kind: 'vital', robot_stamp_ms: 1, cpu: 1, ram: 1, disk: 1, battery: -1 } as const;
    peer.say({
      kind: 'batch',
      spool_id: SPOOL,
      lane: 'live',
      first_seq: 8,
      clock: null,
      schemas: [],
      channels: [],
      rows: [vital, vital],
    });
    expect(await peer.next('batch_ack')).toEqual({ kind: 'batch_ack', spool_id: SPOOL, lane: 'live', seq: 9 });
  });

  it('says "going away" to every robot when it stops', async () => {
    const peer = await connected();
    await gateway.stop();
    expect((await peer.closed).code).toBe(CloseCode.goingAway);
    expect(await isOnline()).toBe(true);
  });
});
