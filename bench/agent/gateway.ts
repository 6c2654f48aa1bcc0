import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FrameReader, FrameWriter } from '@drover/shared/link/codec';
import type { Command } from '@drover/shared/link/command';
import type { DownMessage } from '@drover/shared/link/down';
import { LINK_VERSION } from '@drover/shared/link/protocol';
import type { UpMessage } from '@drover/shared/link/up';
import { type WebSocket, WebSocketServer } from 'ws';

/** As long as a command of these may wait, and run. */
const LIFE_MS = 60_000;

export type Content = Pick<Command, 'interface' | 'name' | 'type' | 'payload'>;

/** Speaks the link to one agent and keeps nothing: commands go out as they are asked for, outcomes are acknowledged at once. */
export class BareGateway {
  readonly #server = createServer();
  readonly #sockets = new WebSocketServer({ server: this.#server, perMessageDeflate: false });
  readonly #writer = new FrameWriter<DownMessage>();
  readonly #waiting = new Map<string, (outcome: Extract<UpMessage, { kind: 'command_outcome' }>) => void>();
  #socket: WebSocket | undefined;
  #connected = () => {};
  /** Settles when the agent's first session stands. */
  readonly connected = new Promise<void>((resolve) => {
    this.#connected = resolve;
  });

  /** Listens; returns where. */
  async open(): Promise<string> {
    this.#sockets.on('connection', (socket) => {
      this.#socket = socket;
      const reader = FrameReader.up();
      socket.on('message', (data: Buffer) => this.#heard(reader.accept(data)));
    });
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Sends a command; resolves with its uuid when the robot has told that it was executed. */
  async run(content: Content): Promise<string> {
    const uuid = randomUUID();
    const ended = new Promise<Extract<UpMessage, { kind: 'command_outcome' }>>((resolve) =>
      this.#waiting.set(uuid, resolve),
    );
    const life = { deadline_cloud_ms: Date.now() + LIFE_MS, life_ms: LIFE_MS, timeout_ms: LIFE_MS };
    this.#say({ kind: 'command', uuid, ...content, ...life, latched: false });
    const { state, message } = await ended;
    if (state !== 'executed') throw new Error(`a command failed: ${message}`);
    return uuid;
  }

  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.close();
  }

  #say(message: DownMessage): void {
    for (const frame of this.#writer.frames(message)) this.#socket?.send(frame);
  }

  #heard(message: UpMessage | undefined): void {
    const nowMs = Date.now();
    const acked = { live: 0, backfill: 0 };
    if (message?.kind === 'hello') {
      const of = { link_version: LINK_VERSION, robot_id: 'robot', cloud_now_ms: nowMs };
      this.#say({ kind: 'welcome', ...of, acked });
      this.#connected();
    }
    if (message?.kind === 'clock_request') {
      const times = { robot_sent_ms: message.robot_sent_ms, cloud_received_ms: nowMs, cloud_sent_ms: nowMs };
      this.#say({ kind: 'clock_reply', ...times });
    }
    if (message?.kind === 'command_outcome') {
      this.#waiting.get(message.uuid)?.(message);
      this.#waiting.delete(message.uuid);
      this.#say({ kind: 'outcome_ack', uuid: message.uuid });
    }
  }
}
