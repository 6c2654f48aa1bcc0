import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { LINK_VERSION, LINK_VERSION_OLDEST_CLOUD } from '@drover/shared/link/protocol';
import { decode, encode } from '@msgpack/msgpack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { TestAgent } from './support/agent.js';

type Message = Record<string, unknown> & { kind: string };

const KNOWN_KINDS = [
  ...['hello', 'applied', 'command_taken', 'command_feedback', 'command_outcome', 'batch', 'clock_request'],
  ...['stream_status', 'answer'],
];
const COUNTER = { source: '/counter', type: 'std_msgs/msg/Int64', hz: 10, enabled: true, max_message_bytes: 1_000_000 };
const DESIRED = {
  kind: 'desired',
  revision: 1,
  vitals: { enabled: false, period_s: 5 },
  logs: { enabled: false, min_level: 'info' },
  streams: [{ ...COUNTER, max_age_s: null }],
  compose: null,
};

/**
 * A cloud of link version 2, written down here as it was: it shares no code with today's, knows no kind of message that came
 * later, and refuses a later version.
 */
class OldestCloud {
  readonly #server: WebSocketServer;
  readonly #heard: Message[] = [];
  readonly versions: unknown[] = [];
  readonly unknownKinds: string[] = [];
  #socket: WebSocket | undefined;
  #wake: () => void = () => {};

  private constructor(server: WebSocketServer) {
    this.#server = server;
    server.on('connection', (socket) => {
      const parts: Uint8Array[] = [];
      socket.on('message', (frame: Buffer) => {
        let message = decode(frame) as Message;
        if (message.kind === 'part') {
          parts.push(message.data as Uint8Array);
          if (message.last !== true) return;
          message = decode(Buffer.concat(parts.splice(0))) as Message;
        }
        this.#accept(socket, message);
        this.#heard.push(message);
        this.#wake();
      });
    });
  }

  static async start(): Promise<OldestCloud> {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'drover.v1' });
    await once(server, 'listening');
    return new OldestCloud(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #accept(socket: WebSocket, message: Message): void {
    if (message.kind === 'hello') {
      this.versions.push(message.link_version);
      if (Number(message.link_version) > 2) {
        socket.close(4002, `link version ${message.link_version}; this cloud serves 1 to 2`);
        return;
      }
      this.#socket = socket;
      const acked = { live: 0, backfill: 0 };
      this.say({ kind: 'welcome', link_version: 2, robot_id: 'rover-1', cloud_now_ms: Date.now(), acked });
      this.say(DESIRED);
    }
    if (!KNOWN_KINDS.includes(message.kind)) this.unknownKinds.push(message.kind);
    if (message.kind === 'clock_request') {
      const now = Date.now();
      const { robot_sent_ms } = message;
      this.say({ kind: 'clock_reply', robot_sent_ms, cloud_received_ms: now, cloud_sent_ms: now });
    }
  }

  say(message: Message): void {
    this.#socket?.send(encode(message));
  }

  async next(kind: string): Promise<Message> {
    for (;;) {
      const at = this.#heard.findIndex((message) => message.kind === kind);
      const [found] = at < 0 ? [] : this.#heard.splice(at, 1);
      if (found) return found;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async stop(): Promise<void> {
    for (const client of this.#server.clients) client.terminate();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

let cloud: OldestCloud;
let agent: TestAgent;

beforeAll(async () => {
  cloud = await OldestCloud.start();
  agent = await TestAgent.start({ url: cloud.url, token: 'drt_of-a-cloud-of-version-2' });
});

afterAll(async () => {
  expect(await agent?.stop()).toBe(0);
  await cloud?.stop();
});

it('a cloud of link version 2 is spoken to in its version', async () => {
  expect(await cloud.next('applied')).toMatchObject({ revision: 1 });
  expect([cloud.versions[0], cloud.versions.at(-1)]).toEqual([LINK_VERSION, LINK_VERSION_OLDEST_CLOUD]);
});

it('a cloud of link version 2 gets data in order, and is told of streams', async () => {
  const first = await cloud.next('batch');
  expect(first).toMatchObject({ lane: 'live', first_seq: 1 });
  const rows = (first.rows as unknown[]).length;
  cloud.say({ kind: 'batch_ack', spool_id: first.spool_id, lane: 'live', seq: rows });
  expect(await cloud.next('batch')).toMatchObject({ lane: 'live', first_seq: rows + 1 });
  expect(await cloud.next('stream_status')).toMatchObject({ streams: [{ source: '/counter' }] });
});

it('a cloud of link version 2 has commands run, and is told how they ended', async () => {
  const uuid = '0194b6b0-3b1a-7cc0-8d7f-0123456789ab';
  const call = { interface: 'service', name: '/reset_odometry', type: 'std_srvs/srv/Trigger', payload: {} };
  const times = { life_ms: 5_000, deadline_cloud_ms: Date.now() + 5_000, timeout_ms: 30_000 };
  cloud.say({ kind: 'command', uuid, ...call, ...times, latched: false });
  expect(await cloud.next('command_taken')).toMatchObject({ uuid, seq: 1 });
  expect(await cloud.next('command_outcome')).toMatchObject({ uuid, state: 'executed', result: { success: true } });
  cloud.say({ kind: 'outcome_ack', uuid });
});

it('a cloud of link version 2 is sent no kind of message that it does not know', () => {
  expect(cloud.unknownKinds).toEqual([]);
});
