import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { FrameReader, FrameWriter } from '@drover/shared/link/codec';
import type { DownMessage } from '@drover/shared/link/down';
import { LINK_SUBPROTOCOL } from '@drover/shared/link/protocol';
import type { UpMessage } from '@drover/shared/link/up';
import { type WebSocket, WebSocketServer } from 'ws';

type Kind = UpMessage['kind'];
type Of<K extends Kind> = Extract<UpMessage, { kind: K }>;

/** The other end of a session, speaking the real codec over a real websocket; for tests of the agent. */
export class TestSession {
  readonly #reader = FrameReader.up();
  readonly #writer = new FrameWriter<DownMessage>();
  readonly #messages: UpMessage[] = [];
  #wake: () => void = () => {};
  readonly closed: Promise<{ code: number; reason: string }>;

  constructor(
    readonly socket: WebSocket,
    readonly stream: Socket,
    readonly headers: Record<string, unknown>,
  ) {
    socket.on('message', (data) => {
      const message = this.#reader.accept(data as Buffer);
      if (!message) return;
      if (message.kind === 'clock_request') this.#answerClock(message);
      this.#messages.push(message);
      this.#wake();
    });
    this.closed = once(socket, 'close').then(([code, reason]) => ({ code, reason: String(reason) }));
  }

  /** Answer clock requests as the gateway does, with a clock this far ahead. */
  clockAheadMs = 0;

  say(message: DownMessage): void {
    for (const frame of this.#writer.frames(message)) this.socket.send(frame);
  }

  /** The next message of that kind, those of other kinds before it left for later. */
  async next<K extends Kind>(kind: K): Promise<Of<K>> {
    for (;;) {
      const at = this.#messages.findIndex((message) => message.kind === kind);
      if (at >= 0) return this.#messages.splice(at, 1)[0] as Of<K>;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** What came and was not asked for, by kind. */
  unread(): Kind[] {
    return this.#messages.map((message) => message.kind);
  }

  async welcome(acked = { live: 0, backfill: 0 }, robotId = 'robot-1'): Promise<Of<'hello'>> {
    const hello = await this.next('hello');
    const cloud_now_ms = Date.now() + this.clockAheadMs;
    this.say({ kind: 'welcome', link_version: 1, robot_id: robotId, cloud_now_ms, acked });
    return hello;
  }

  #answerClock(request: Of<'clock_request'>): void {
    const now = Date.now() + this.clockAheadMs;
    const { robot_sent_ms } = request;
    this.say({ kind: 'clock_reply', robot_sent_ms, cloud_received_ms: now, cloud_sent_ms: now });
  }
}

/** A websocket server on a free port that hands out the sessions agents open. */
export class TestCloud {
  readonly #server: Server;
  readonly #sockets: WebSocketServer;
  readonly #sessions: TestSession[] = [];
  readonly #streams = new Set<Socket>();
  #wake: () => void = () => {};
  /** Answer upgrades with this HTTP status instead of a session. */
  refuseWith: number | null = null;
  /** Upgrade requests seen. */
  attempts = 0;

  private constructor() {
    this.#server = createServer((_, response) => void response.writeHead(404).end());
    this.#sockets = new WebSocketServer({ noServer: true, handleProtocols: () => LINK_SUBPROTOCOL });
    this.#server.on('connection', (stream) => {
      this.#streams.add(stream);
      stream.on('close', () => this.#streams.delete(stream));
    });
    this.#server.on('upgrade', (request, socket, head) => {
      this.attempts += 1;
      if (this.refuseWith !== null) {
        socket.end(`HTTP/1.1 ${this.refuseWith} No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
        this.#wake();
        return;
      }
      this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
        this.#sessions.push(new TestSession(webSocket, socket as Socket, request.headers));
        this.#wake();
      });
    });
  }

  static async start(): Promise<TestCloud> {
    const cloud = new TestCloud();
    await new Promise<void>((resolve) => cloud.#server.listen(0, '127.0.0.1', resolve));
    return cloud;
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}/agent`;
  }

  /** The next session an agent opens. */
  async session(): Promise<TestSession> {
    await this.until(() => this.#sessions.length > 0);
    return this.#sessions.shift() as TestSession;
  }

  /** Waits until an upgrade request makes the condition true. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async stop(): Promise<void> {
    for (const stream of this.#streams) stream.destroy();
    this.#sockets.close();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
