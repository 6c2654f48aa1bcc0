/**
 * Where every contender's samples end: a ws server that acknowledges what it is sent and keeps nothing but each sample's stamp. Agents find
 * the link there (welcome, a desired state of one stream, the clock), bare scripts an exchange of their own at `/bare`.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Batch } from '@drover/shared/link/batch';
import { FrameReader, FrameWriter } from '@drover/shared/link/codec';
import type { DesiredStream } from '@drover/shared/link/desired';
import type { DownMessage } from '@drover/shared/link/down';
import { LINK_PATH, LINK_SUBPROTOCOL, LINK_VERSION, STREAM_MESSAGE_BYTES_MAX } from '@drover/shared/link/protocol';
import type { UpMessage } from '@drover/shared/link/up';
import { decode, encode } from '@msgpack/msgpack';
import { type WebSocket, WebSocketServer } from 'ws';
import { serve } from '../harness/serve.js';
import type { BareBatch } from './bare.js';

/** As the cloud asks it of a new robot. */
const VITALS_PERIOD_S = 5;

interface Contender {
  readonly stream: Pick<DesiredStream, 'source' | 'type' | 'hz'>;
  readonly stampsMs: number[];
  drops: number;
}

const contenders = new Map<string, Contender>();

function of(name: string): Contender {
  const contender = contenders.get(name);
  if (!contender) throw new Error(`nobody here is called ${name}`);
  return contender;
}

/** An agent's session; its name is its token's end. */
function agent(socket: WebSocket, name: string): void {
  const reader = FrameReader.up();
  const writer = new FrameWriter<DownMessage>();
  const contender = of(name);
  const say = (message: DownMessage) => {
    for (const frame of writer.frames(message)) socket.send(frame);
  };
  socket.on('message', (data: Buffer) => {
    const message = reader.accept(data);
    if (message) answer(message, contender, say);
  });
}

function answer(message: UpMessage, contender: Contender, say: (message: DownMessage) => void): void {
  const nowMs = Date.now();
  if (message.kind === 'batch') {
    keep(message, contender);
    const { spool_id, lane, first_seq, rows } = message;
    say({ kind: 'batch_ack', spool_id, lane, seq: first_seq + rows.length - 1 });
  } else if (message.kind === 'stream_status') {
    for (const { source, drops } of message.streams) {
      if (source === contender.stream.source) contender.drops = drops.reduce((sum, { rows }) => sum + rows, 0);
    }
  } else if (message.kind === 'clock_request') {
    const { robot_sent_ms } = message;
    say({ kind: 'clock_reply', robot_sent_ms, cloud_received_ms: nowMs, cloud_sent_ms: nowMs });
  } else if (message.kind === 'hello') {
    const acked = { live: 0, backfill: 0 };
    say({ kind: 'welcome', link_version: LINK_VERSION, robot_id: 'sampled', cloud_now_ms: nowMs, acked });
    say({
      kind: 'desired',
      revision: 1,
      vitals: { enabled: true, period_s: VITALS_PERIOD_S },
      logs: { enabled: false, min_level: 'info' },
      streams: [{ ...contender.stream, enabled: true, max_message_bytes: STREAM_MESSAGE_BYTES_MAX }],
      compose: null,
    });
  }
}

function keep({ rows, channels }: Batch, { stream, stampsMs }: Contender): void {
  for (const row of rows) {
    if (row.kind === 'point' && channels[row.channel]?.source === stream.source) stampsMs.push(row.robot_stamp_ms);
  }
}

function bare(socket: WebSocket, name: string): void {
  const { stampsMs } = of(name);
  socket.on('message', (data: Buffer) => {
    const { rows } = decode(data) as BareBatch;
    for (const { stampMs } of rows) stampsMs.push(stampMs);
    socket.send(encode({ lastId: rows.at(-1)?.id ?? 0 }));
  });
}

serve({
  open: async () => {
    const server = createServer();
    const sockets = new WebSocketServer({
      ...{ server, perMessageDeflate: false, handleProtocols: () => LINK_SUBPROTOCOL },
    });
    sockets.on('connection', (socket, request: IncomingMessage) => {
      const name = /[a-z]+-[0-9]+$/.exec(request.headers.authorization ?? '')?.[0] ?? '';
      if (request.url === LINK_PATH) agent(socket, name);
      else bare(socket, name);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
  expect: ({ name, stream }: { name: string; stream: Contender['stream'] }) => {
    contenders.set(name, { stream, stampsMs: [], drops: 0 });
  },
  /** Samples stamped within a time, and what its stream says that it ever dropped. */
  kept: ({ name, fromMs, toMs }: { name: string; fromMs: number; toMs: number }) => {
    const { stampsMs, drops } = of(name);
    return { samples: stampsMs.filter((stampMs) => stampMs >= fromMs && stampMs < toMs).length, drops };
  },
});
