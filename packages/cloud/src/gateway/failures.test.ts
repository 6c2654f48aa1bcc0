import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { CloseCode, LINK_PATH, PING_INTERVAL_MS } from '@drover/shared/link/protocol';
import type { UpMessage } from '@drover/shared/link/up';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InProcessBus } from '../bus/in-process.js';
import { BatchError, BatchRefusal } from '../data/batch-error.js';
import { RobotGoneError } from '../robots/robot-gone.js';
import { Gateway, type GatewayOptions } from './gateway.js';
import { SessionRegistry } from './registry.js';
import { hello, INBOX, NO_COMPOSE, NO_LINKS, Peer, SPOOL } from './test-peer.js';

const TOKEN = 'drt_a-token-of-the-robot';
const ROBOT = {
  key: 1,
  id: 'rover-1',
  tenantKey: 1,
  tenantUuid: '0194b6b0-3b1a-7cc0-8d7f-000000000009',
  createdAtMs: 0,
};
const BATCH: UpMessage = {
  kind: 'batch',
  spool_id: SPOOL,
  lane: 'live',
  first_seq: 1,
  clock: null,
  schemas: [],
  channels: [],
  rows: [{ kind: 'vital', robot_stamp_ms: 1, cpu: 1, ram: 1, disk: 1, battery: -1 }],
};

describe('the gateway, where something fails', () => {
  let server: Server;
  let gateway: Gateway;
  let ports: Pick<GatewayOptions, 'robots' | 'desired' | 'data' | 'commands' | 'streams' | 'links' | 'compose'>;
  let wallSkewMs: number;
  let monotonicMs: number;
  const peers: Peer[] = [];

  beforeEach(async () => {
    wallSkewMs = 0;
    monotonicMs = 0;
    ports = {
      robots: {
        authenticateToken: async (token) => (token === TOKEN ? ROBOT : undefined),
        sessionStarted: async () => {},
        setOnline: async () => {},
        onlineKeys: async () => [],
      },
      desired: {
        forRobot: async () => ({
          kind: 'desired',
          revision: 1,
          vitals: { enabled: true, period_s: 5 },
          logs: { enabled: true, min_level: 'info' },
          streams: [],
          compose: null,
        }),
      },
      data: {
        write: async () => 1,
        isBusy: false,
        resume: async () => ({ live: 0, backfill: 0 }),
      },
      commands: {
        inboxSeen: async () => 'current',
        deliverable: async () => ({ commands: [], cancels: [], more: false }),
        taken: async () => {},
        feedback: async () => {},
        ended: async () => {},
      },
      streams: { reported: () => {} },
      links: NO_LINKS,
      compose: NO_COMPOSE,
    };
    gateway = new Gateway({
      ...ports,
      registry: new SessionRegistry(),
      bus: new InProcessBus(),
      log: pino({ level: 'silent' }),
      now: () => Date.now() + wallSkewMs,
      monotonicNow: () => monotonicMs,
    });
    await gateway.start();
    server = createServer().listen(0, '127.0.0.1');
    gateway.attach(server);
    await once(server, 'listening');
  });

  afterEach(async () => {
    for (const peer of peers.splice(0)) peer.socket.terminate();
    await gateway.stop();
    server.close();
  });

  const port = () => (server.address() as AddressInfo).port;

  async function greeting(inbox: Parameters<typeof hello>[0] = {}): Promise<Peer> {
    const peer = new Peer(`ws://127.0.0.1:${port()}${LINK_PATH}`, TOKEN);
    peers.push(peer);
    await once(peer.socket, 'open');
    peer.say(hello(inbox));
    return peer;
  }

  it('stores the newest feedback of a goal, one write at a time, however fast it comes', async () => {
    const written: [string, unknown][][] = [];
    let finishFirst = () => {};
    ports.commands.feedback = async (_robot, newest) => {
      written.push([...newest]);
      if (written.length === 1) await new Promise<void>((resolve) => (finishFirst = resolve));
    };
    const peer = await greeting();
    await peer.next('welcome');
    for (let n = 1; n <= 100; n += 1) peer.say({ kind: 'command_feedback', uuid: INBOX, feedback: n });
    peer.say({ kind: 'clock_request', robot_sent_ms: 5, measured: null });
    await peer.next('clock_reply');
    finishFirst();
    peer.say(BATCH);
    await peer.next('batch_ack');
    expect(written).toEqual([[[INBOX, 1]], [[INBOX, 100]]]);
  });

  it('answers many pings that come at once by the newest, and keeps the session', async () => {
    const peer = await greeting();
    await peer.next('welcome');
    const answers: number[] = [];
    peer.socket.on('pong', (data) => answers.push(Number(data.toString())));
    for (let n = 1; n <= 1_000; n += 1) peer.socket.ping(String(n));
    peer.say({ kind: 'clock_request', robot_sent_ms: 5, measured: null });
    expect(await Promise.race([peer.next('clock_reply'), peer.closed])).toMatchObject({ kind: 'clock_reply' });
    while (answers.at(-1) !== 1_000) await once(peer.socket, 'pong');
    expect(answers).toEqual(answers.toSorted((a, b) => a - b));
    expect(answers.length).toBeLessThan(1_000);
  });

  it('neither drops its robots nor stops to ping them when the wall clock is set', async () => {
    const peer = await greeting();
    await peer.next('welcome');
    for (const skewMs of [3_600_000, -3_600_000]) {
      wallSkewMs = skewMs;
      monotonicMs += PING_INTERVAL_MS;
      await Promise.race([
        once(peer.socket, 'ping'),
        peer.closed.then((close) => {
          throw new RangeError(`closed: ${close.reason}`);
        }),
      ]);
    }
  });

  it('lets go of a refused connection that its peer keeps open', async () => {
    const stranger = connect({ port: port(), host: '127.0.0.1', allowHalfOpen: true });
    stranger.write(
      `GET ${LINK_PATH} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    const [socket] = await Promise.all([once(server, 'upgrade').then(([, raw]) => raw), once(stranger, 'data')]);
    if (!socket.destroyed) await once(socket, 'close');
    stranger.destroy();
  });

  it.each([
    [BatchRefusal.gap, CloseCode.badMessage],
    [BatchRefusal.malformed, CloseCode.badMessage],
    [BatchRefusal.unknownSchema, CloseCode.badMessage],
    [BatchRefusal.robotGone, CloseCode.revoked],
    [BatchRefusal.stopping, CloseCode.goingAway],
    [BatchRefusal.overloaded, CloseCode.internalError],
  ])('closes a session whose batch is refused as %s with the code of it, and says why', async (refusal, code) => {
    ports.data.write = async () => {
      throw new BatchError(refusal, `this is ${refusal}`);
    };
    const peer = await greeting();
    await peer.next('welcome');
    peer.say(BATCH);
    expect(await peer.closed).toEqual({ code, reason: `this is ${refusal}` });
  });

  it('closes the session of a robot that was deleted while it connected as revoked', async () => {
    ports.robots.sessionStarted = async () => {
      throw new RobotGoneError(ROBOT.key);
    };
    expect((await (await greeting()).closed).code).toBe(CloseCode.revoked);
  });

  it('does not let a session that was replaced while it connected speak for its inbox', async () => {
    const seen: string[] = [];
    ports.commands.inboxSeen = async (_robot, inbox) => {
      seen.push(inbox.id);
      return 'current';
    };
    let goOn = () => {};
    const started = new Promise<void>((resolve) => {
      ports.robots.sessionStarted = () => {
        resolve();
        ports.robots.sessionStarted = async () => {};
        return new Promise((done) => (goOn = done));
      };
    });
    const older = await greeting();
    await started;
    const newer = await greeting({ id: SPOOL });
    await newer.next('welcome');
    goOn();
    await older.closed;
    expect(seen).toEqual([SPOOL]);
  });

  it('tells nothing of a failure of its own but that it failed', async () => {
    ports.data.write = async () => {
      throw new TypeError('a secret detail');
    };
    const peer = await greeting();
    await peer.next('welcome');
    peer.say(BATCH);
    const { code, reason } = await peer.closed;
    expect(code).toBe(CloseCode.internalError);
    expect(reason).not.toContain('secret');
  });
});
