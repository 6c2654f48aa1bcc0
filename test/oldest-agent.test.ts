import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { LINK_VERSION_OLDEST } from '@drover/shared/link/protocol';
import { decode, encode } from '@msgpack/msgpack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RawData, WebSocket } from 'ws';
import { TestCloud } from './support/cloud.js';

const ROBOT = 'rover-1';
const COUNTER = { source: '/counter', type: 'std_msgs/msg/Int64', hz: 10 };
const DEFINITION = 'int64 data\n';
/** Little-endian CDR of an Int64 of 7. */
const SEVEN = Uint8Array.of(0, 1, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0);

type Message = Record<string, unknown> & { kind: string };

/**
 * An agent of the link's first version, written down here as it was: it shares no code with today's, and knows no kind of
 * message that came later.
 */
class OldestAgent {
  static readonly knownKinds = [
    'welcome',
    'desired',
    'command',
    'command_cancel',
    'outcome_ack',
    'batch_ack',
    'clock_reply',
  ];
  readonly inboxId = randomUUID();
  readonly spoolId = randomUUID();
  readonly #socket: WebSocket;
  readonly #heard: Message[] = [];
  #wake: () => void = () => {};

  constructor(url: string, token: string) {
    const address = `${url.replace('http', 'ws')}/agent`;
    this.#socket = new WebSocket(address, 'drover.v1', { headers: { authorization: `Bearer ${token}` } });
    this.#socket.on('message', (data: RawData) => {
      this.#heard.push(decode(data as Buffer) as Message);
      this.#wake();
    });
  }

  async greet(): Promise<void> {
    await once(this.#socket, 'open');
    this.say({
      kind: 'hello',
      link_version: 1,
      agent_version: '2026-11-21',
      robot_now_ms: Date.now(),
      inbox: { id: this.inboxId, last_seq: 0 },
      spool: { id: this.spoolId, last_seq: { live: 0, backfill: 0 } },
      ros: { graph: 'simulated', distro: null },
      desired_revision: null,
    });
  }

  say(message: Message): void {
    this.#socket.send(encode(message));
  }

  /** The next message of that kind. @throws Error where one comes that the first version does not know. */
  async next(kind: string): Promise<Message> {
    for (;;) {
      const unknown = this.#heard.find((message) => !OldestAgent.knownKinds.includes(message.kind));
      if (unknown) throw new Error(`an agent of version 1 does not know ${unknown.kind}`);
      const at = this.#heard.findIndex((message) => message.kind === kind);
      const [found] = at < 0 ? [] : this.#heard.splice(at, 1);
      if (found) return found;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async close(): Promise<void> {
    this.#socket.close(1000);
    await once(this.#socket, 'close');
  }
}

let cloud: TestCloud;
let agent: OldestAgent;

beforeAll(async () => {
  cloud = await TestCloud.start();
  agent = new OldestAgent(cloud.url, await cloud.register(ROBOT));
  await agent.greet();
  expect(await agent.next('welcome')).toMatchObject({ robot_id: ROBOT, acked: { live: 0, backfill: 0 } });
});

afterAll(async () => {
  await agent?.close();
  expect(await cloud?.stop()).toBe(0);
});

it('the oldest agent served is that of link version 1', () => {
  expect(LINK_VERSION_OLDEST).toBe(1);
});

it('an agent of link version 1 is told what is desired, also of streams with later options', async () => {
  await agent.next('desired');
  await cloud.call('POST', `/robots/${ROBOT}/streams`, COUNTER);
  await cloud.call('PATCH', `/robots/${ROBOT}/streams/%2Fcounter/options`, { max_age_s: 60 });
  let desired = await agent.next('desired');
  while ((desired.streams as Message[]).length === 0) desired = await agent.next('desired');
  expect(desired).toMatchObject({
    vitals: { enabled: true, period_s: 5 },
    logs: { enabled: true, min_level: 'info' },
    streams: [{ source: '/counter', type: COUNTER.type, hz: 10, enabled: true }],
    compose: null,
  });
  agent.say({ kind: 'applied', revision: desired.revision });
});

it('an agent of link version 1 runs commands, and its outcomes are stored and acknowledged', async () => {
  const call = { interface: 'service', name: '/reset', type: 'std_srvs/srv/Trigger', payload: {} };
  const { body } = await cloud.call<{ uuid: string }>('POST', `/robots/${ROBOT}/commands`, call);
  const command = await agent.next('command');
  expect(command).toMatchObject({ uuid: body.uuid, ...call, timeout_ms: 30_000, latched: false });
  agent.say({ kind: 'command_taken', uuid: body.uuid, seq: 1 });
  agent.say({
    kind: 'command_outcome',
    uuid: body.uuid,
    state: 'executed',
    error_code: null,
    message: null,
    result: { success: true, message: '' },
    feedback: null,
    finished_robot_ms: Date.now(),
  });
  expect(await agent.next('outcome_ack')).toEqual({ kind: 'outcome_ack', uuid: body.uuid });
  expect(await cloud.outcome(body.uuid)).toMatchObject({ state: 'executed', result: { success: true } });
});

it('an agent of link version 1 delivers data, each batch once, and measures its clock', async () => {
  const hash = createHash('sha256').update(DEFINITION).digest('hex');
  const batch = {
    kind: 'batch',
    spool_id: agent.spoolId,
    lane: 'live',
    first_seq: 1,
    clock: { offset_ms: 0, uncertainty_ms: 1 },
    schemas: [{ hash, type: COUNTER.type, text: DEFINITION }],
    channels: [{ source: '/counter', type: COUNTER.type, schema_hash: hash, publisher: null }],
    rows: [{ kind: 'point', channel: 0, robot_stamp_ms: Date.now(), cdr: SEVEN }],
  };
  for (const _ of ['sent', 'sent again']) {
    agent.say(batch);
    expect(await agent.next('batch_ack')).toMatchObject({ spool_id: agent.spoolId, lane: 'live', seq: 1 });
  }
  const points = await cloud.get<{ payload: unknown }[]>(`/robots/${ROBOT}/data?source=/counter`);
  expect(points.map(({ payload }) => payload)).toEqual([{ data: 7 }]);
  agent.say({ kind: 'clock_request', robot_sent_ms: 5, measured: null });
  expect(await agent.next('clock_reply')).toMatchObject({ robot_sent_ms: 5 });
});

it('an agent of link version 1 is never asked what it can not answer: the API says that it is too old', async () => {
  const { status, body } = await cloud.call<{ error_code: string; message: string }>('GET', `/robots/${ROBOT}/graph`);
  expect([status, body.error_code]).toEqual([503, 'unavailable']);
  expect(body.message).toMatch(/too old/);
});

it('an agent of link version 1 is told its compose file as ever; the API says that it is too old to tell of it', async () => {
  const content = { services: { web: { image: 'nginx:1' } } };
  await cloud.call('POST', '/compose-files', { id: 'stack-1', content });
  await cloud.call('POST', `/robots/${ROBOT}/compose-file`, { id: 'stack-1' });
  let desired = await agent.next('desired');
  while (desired.compose === null) desired = await agent.next('desired');
  expect(desired.compose).toMatchObject({ id: 'stack-1', version: 1, name: 'stack-1', content });
  const path = `/robots/${ROBOT}/compose-file`;
  expect(await cloud.get<{ state: string }>(path)).toMatchObject({ state: 'pending_up', error_code: null });
  const answers = [
    await cloud.call<{ error_code: string; message: string }>('POST', `${path}/plan`, { id: 'stack-1' }),
    await cloud.call<{ error_code: string; message: string }>('GET', `${path}/services/web/logs`),
  ];
  for (const { status, body } of answers) {
    expect([status, body.error_code]).toEqual([503, 'unavailable']);
    expect(body.message).toMatch(/too old/);
  }
  await cloud.call('DELETE', path);
  while (desired.compose !== null) desired = await agent.next('desired');
});
