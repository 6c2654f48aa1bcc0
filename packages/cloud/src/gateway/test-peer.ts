import { FrameReader, FrameWriter } from '@drover/shared/link/codec';
import type { DownMessage } from '@drover/shared/link/down';
import { LINK_SUBPROTOCOL, LINK_VERSION } from '@drover/shared/link/protocol';
import type { UpMessage } from '@drover/shared/link/up';
import { WebSocket } from 'ws';

/** The inbox and the spool that `hello` speaks for unless told otherwise. */
export const INBOX = '0194b6b0-3b1a-7cc0-8d7f-000000000001';
export const SPOOL = '0194b6b0-3b1a-7cc0-8d7f-000000000002';

/** What an agent would be to the gateway: a websocket that speaks the codec. */
export class Peer {
  readonly socket: WebSocket;
  readonly #reader = FrameReader.down();
  readonly #writer = new FrameWriter<UpMessage>();
  readonly #messages: DownMessage[] = [];
  #wake: () => void = () => {};
  readonly closed: Promise<{ code: number; reason: string }>;

  constructor(url: string, token: string) {
    this.socket = new WebSocket(url, LINK_SUBPROTOCOL, { headers: { authorization: `Bearer ${token}` } });
    this.socket.on('error', () => {});
    this.socket.on('message', (data: Buffer) => {
      const message = this.#reader.accept(data);
      if (message) this.#messages.push(message);
      this.#wake();
    });
    this.closed = new Promise((resolve) => {
      this.socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }));
    });
  }

  say(message: UpMessage): void {
    for (const frame of this.#writer.frames(message)) this.socket.send(frame);
  }

  async next<K extends DownMessage['kind']>(kind: K): Promise<Extract<DownMessage, { kind: K }>> {
    for (;;) {
      const at = this.#messages.findIndex((message) => message.kind === kind);
      if (at >= 0) return this.#messages.splice(at, 1)[0] as Extract<DownMessage, { kind: K }>;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Kinds received and not asked for yet. */
  get unread(): string[] {
    return this.#messages.map((message) => message.kind);
  }
}

export function hello(inbox: { id?: string; last_seq?: number } = {}): UpMessage {
  return {
    kind: 'hello',
    link_version: LINK_VERSION,
    agent_version: '2026-11-21',
    robot_now_ms: Date.now(),
    inbox: { id: inbox.id ?? INBOX, last_seq: inbox.last_seq ?? 0 },
    spool: { id: SPOOL, last_seq: { live: 0, backfill: 0 } },
    ros: { graph: 'simulated', distro: null },
    desired_revision: null,
  };
}

/** Takes what a session tells of its link, and keeps nothing. */
export const NO_LINKS = { opened: () => {}, ended: () => {}, clockMeasured: () => {}, reported: () => {} };

/** Takes what a session tells of its compose file, and keeps nothing. */
export const NO_COMPOSE = { reported: () => {} };
