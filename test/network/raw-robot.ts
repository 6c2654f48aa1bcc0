import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { FrameReader, FrameWriter } from '@drover/shared/link/codec';
import type { DownMessage } from '@drover/shared/link/down';
import { LINK_SUBPROTOCOL, LINK_VERSION } from '@drover/shared/link/protocol';
import type { UpMessage } from '@drover/shared/link/up';
import { encodeCdr } from '@drover/shared/ros/cdr';
import { parseSchema } from '@drover/shared/ros/definitions';
import { WebSocket } from 'ws';

const schema = parseSchema('std_msgs/msg/String', 'string data');

/** What a flood keeps itself of what the network does not take yet. */
const UNSENT_BYTES_MAX = 1024 * 1024;

/** A robot that keeps to the protocol and to nothing else: it sends as much as it likes, and reads when it likes. */
export class RawRobot {
  readonly #socket: WebSocket;
  readonly #reader = FrameReader.down();
  readonly #writer = new FrameWriter<UpMessage>();
  readonly #spoolId = randomUUID();
  #seq = 0;
  #acked = 0;
  #wake: () => void = () => {};
  /** With what code the session ended, once it has. */
  endedWith: number | null = null;
  /** The most batches of a flood that were not acknowledged at once: on their way, in the network's buffers as well. */
  aheadMax = 0;
  readonly kinds = new Map<DownMessage['kind'], number>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer) => {
      const message = this.#reader.accept(data);
      if (!message) return;
      this.kinds.set(message.kind, (this.kinds.get(message.kind) ?? 0) + 1);
      if (message.kind === 'batch_ack') this.#acked = message.seq;
      this.#wake();
    });
    socket.on('error', () => {});
    socket.on('close', (code) => {
      this.endedWith = code;
      this.#wake();
    });
  }

  static async connect(url: string, token: string): Promise<RawRobot> {
    const headers = { authorization: `Bearer ${token}` };
    const socket = new WebSocket(`${url.replace('http', 'ws')}/agent`, LINK_SUBPROTOCOL, { headers });
    const robot = new RawRobot(socket);
    await once(socket, 'open');
    robot.#say({
      kind: 'hello',
      link_version: LINK_VERSION,
      agent_version: '2026-11-21',
      robot_now_ms: Date.now(),
      inbox: { id: randomUUID(), last_seq: 0 },
      spool: { id: robot.#spoolId, last_seq: { live: 0, backfill: 0 } },
      ros: { graph: 'simulated', distro: null },
      desired_revision: null,
    });
    await robot.#until(() => robot.kinds.has('welcome'));
    return robot;
  }

  get rowsAcked(): number {
    return this.#acked;
  }

  /** Sends valid batches as fast as the network takes them, acknowledged or not, until `stop` says so. */
  async flood(options: { rows: number; bytes: number; stop: () => boolean }): Promise<void> {
    const cdr = new Uint8Array(encodeCdr(schema, { data: 'x'.repeat(options.bytes) }));
    const channel = { source: '/flood', type: schema.type, schema_hash: schema.hash, publisher: null };
    while (!options.stop() && this.endedWith === null) {
      const point = { kind: 'point', channel: 0, robot_stamp_ms: Date.now(), cdr } as const;
      this.#say({
        kind: 'batch',
        spool_id: this.#spoolId,
        lane: 'live',
        first_seq: this.#seq + 1,
        clock: null,
        schemas: this.#seq === 0 ? [{ hash: schema.hash, type: schema.type, text: schema.text }] : [],
        channels: [channel],
        rows: new Array(options.rows).fill(point),
      });
      this.#seq += options.rows;
      this.aheadMax = Math.max(this.aheadMax, (this.#seq - this.#acked) / options.rows);
      // A turn for the socket, which else would only be written to.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#until(() => this.#socket.bufferedAmount < UNSENT_BYTES_MAX);
    }
  }

  /** Reads nothing any more, and goes on to send pings: alive, by all that can be heard of it. */
  deafen(): void {
    this.#socket.pause();
    const timer = setInterval(() => this.#socket.ping(), 2_000);
    this.#socket.once('close', () => clearInterval(timer));
  }

  hear(): void {
    this.#socket.resume();
  }

  end(): void {
    this.#socket.terminate();
  }

  #say(message: UpMessage): void {
    for (const frame of this.#writer.frames(message)) this.#socket.send(frame, () => this.#wake());
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition() && this.endedWith === null) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
