import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { FrameReader, FrameWriter } from '@drover/shared/link/codec';
import type { DownMessage } from '@drover/shared/link/down';
import { LINK_PATH, LINK_SUBPROTOCOL, LINK_VERSION } from '@drover/shared/link/protocol';
import type { UpMessage } from '@drover/shared/link/up';
import { RELEASE_DATE } from '@drover/shared/release';
import { WebSocket } from 'ws';

/** A robot's session on the real link and nothing behind it: no spool, no ROS. Also a bare server takes it (bare-server.ts). */
export class RawSession {
  readonly spoolId = randomUUID();
  readonly #socket: WebSocket;
  readonly #reader = FrameReader.down();
  readonly #writer = new FrameWriter<UpMessage>();
  #wake: () => void = () => {};
  #welcome = false;
  /** What the session ended with, once it has. */
  ended: string | null = null;
  /** Rows of the live lane that are on the cloud's disk. */
  acked = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer) => this.#received(this.#reader.accept(data)));
    socket.on('error', (error) => this.#end(error.message));
    socket.on('close', (code, reason) => this.#end(`${code} ${reason}`));
  }

  /** @param url of the cloud, http://… */
  static async open(url: string, token: string): Promise<RawSession> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}${LINK_PATH}`, LINK_SUBPROTOCOL, {
      headers: { authorization: `Bearer ${token}` },
      perMessageDeflate: false,
    });
    const session = new RawSession(socket);
    await once(socket, 'open');
    session.say({
      kind: 'hello',
      link_version: LINK_VERSION,
      agent_version: RELEASE_DATE,
      robot_now_ms: Date.now(),
      inbox: { id: randomUUID(), last_seq: 0 },
      spool: { id: session.spoolId, last_seq: { live: 0, backfill: 0 }, first_seq: { live: 1, backfill: 1 } },
      ros: { graph: 'simulated', distro: null },
      desired_revision: null,
    });
    await session.until(() => session.#welcome);
    return session;
  }

  say(message: UpMessage): void {
    for (const frame of this.#writer.frames(message)) this.#socket.send(frame);
  }

  write(frames: readonly Uint8Array[]): void {
    for (const frame of frames) this.#socket.send(frame);
  }

  ping(): void {
    this.#socket.ping();
  }

  /** @throws Error where the session ends before */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.ended !== null) throw new Error(`the session ended: ${this.ended}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  end(): void {
    this.#socket.terminate();
  }

  #received(message: DownMessage | undefined): void {
    if (message?.kind === 'welcome') this.#welcome = true;
    if (message?.kind === 'batch_ack') this.acked = message.seq;
    this.#wake();
  }

  #end(why: string): void {
    this.ended ??= why;
    this.#wake();
  }
}
