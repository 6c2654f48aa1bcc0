import type { Socket } from 'node:net';
import type { SessionEnding } from '@drover/shared/api/link';
import { FrameReader, FrameWriter, LinkError } from '@drover/shared/link/codec';
import type { DownMessage } from '@drover/shared/link/down';
import { CloseCode, PING_INTERVAL_MS, SILENCE_MAX_MS } from '@drover/shared/link/protocol';
import type { UpMessage } from '@drover/shared/link/up';
import type { Logger } from 'pino';
import { type RawData, WebSocket } from 'ws';

/** What a robot may leave unread before its connection is given up: the largest desired state and a few commands. */
const UNSENT_BYTES_MAX = 32 * 1024 * 1024;

/** RFC 6455 section 5.5: a control frame carries at most 125 bytes, two of them the code. */
const CLOSE_REASON_BYTES_MAX = 123;

/** What hears of a connection. */
export interface ConnectionListener {
  accept(message: UpMessage): void;
  ended(ending: SessionEnding): void;
  /** Something that was sent has been taken by the network. */
  flushed(): void;
}

/** A websocket that knows its connection, so that all of them share their handlers: idle robots are many. */
export class RobotSocket extends WebSocket {
  connection: Connection | undefined;
}

/**
 * One robot's websocket: framing, liveness and closing; knows nothing of what the messages mean. Whatever a peer sends,
 * the answer is a message handed on or a close with a code and a reason, never a throw.
 *
 * An idle robot's costs memory for as long as it is connected: no closures, and no logger, of its own.
 */
export class Connection {
  readonly #socket: RobotSocket;
  readonly #stream: Socket;
  readonly #log: Logger;
  readonly #robotId: string;
  #listener: ConnectionListener | undefined;
  readonly #reader = FrameReader.up();
  readonly #writer = new FrameWriter<DownMessage>();
  #bytesSeen = 0;
  #heardAtMs: number;
  #pingedAtMs: number;
  /** The newest ping that is not answered; and whether an answer is on its way to the network. */
  #pingDue: Buffer | undefined;
  #isAnswering = false;
  #silent = false;
  #ended = false;
  #isCorked = false;
  /** To be sent once others have had their turn. */
  #later: DownMessage[] | undefined;

  constructor(socket: RobotSocket, stream: Socket, robotId: string, log: Logger, nowMs: number) {
    this.#socket = socket;
    this.#stream = stream;
    this.#robotId = robotId;
    this.#log = log;
    this.#heardAtMs = nowMs;
    this.#pingedAtMs = nowMs;
    stream.setNoDelay(true);
    socket.connection = this;
    socket.on('message', onMessage);
    socket.on('ping', onPing);
    socket.on('error', onError);
    socket.on('close', onClose);
  }

  /** Who hears of it; to be called in the turn in which it was made. */
  tell(listener: ConnectionListener): void {
    this.#listener = listener;
  }

  /** Written, and not taken by the network yet. */
  get unsentBytes(): number {
    return this.#socket.bufferedAmount;
  }

  /** Stops reading: what the robot sends waits in its own socket. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** Sends one message; dropped without a word on a connection that is closing, since its session is over anyway. */
  send(message: DownMessage): void {
    if (!this.isOpen) return;
    this.#cork();
    for (const frame of this.#writer.frames(message)) this.#socket.send(frame, () => this.#listener?.flushed());
    if (this.#socket.bufferedAmount > UNSENT_BYTES_MAX) {
      const unsent = this.#socket.bufferedAmount;
      this.#log.warn({ robot: this.#robotId, unsent_bytes: unsent }, 'robot does not read; connection given up');
      this.#socket.terminate();
    }
  }

  /** The same for what the robot does not wait for, an acknowledgement: requests that have come meanwhile go first. */
  sendLater(message: DownMessage): void {
    if (this.#later) {
      this.#later.push(message);
      return;
    }
    this.#later = [message];
    setImmediate(() => {
      const messages = this.#later ?? [];
      this.#later = undefined;
      for (const waiting of messages) this.send(waiting);
    });
  }

  /** What a group of commits brings leaves in one write, and before all that hears of them next: that would be a system call each. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#stream.cork();
    queueMicrotask(() => {
      this.#isCorked = false;
      this.#stream.uncork();
    });
  }

  close(code: CloseCode, reason: string): void {
    this.#log.debug({ robot: this.#robotId, code, reason }, 'closing robot connection');
    this.#socket.close(code, cut(reason));
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** To be called about once a second: pings, and ends a connection that has gone silent. */
  tick(nowMs: number): void {
    // Bytes, not messages: on a slow link a frame may take longer to arrive than our patience lasts.
    const bytesSeen = this.#stream.bytesRead;
    // One we don't read can't be heard.
    if (bytesSeen !== this.#bytesSeen || this.#socket.isPaused) {
      this.#bytesSeen = bytesSeen;
      this.#heardAtMs = nowMs;
    }
    if (nowMs - this.#heardAtMs > SILENCE_MAX_MS) {
      this.#silent = true;
      // Asked to close, a dead peer never answers: no use waiting for the handshake.
      this.#socket.close(CloseCode.silent, 'nothing heard');
      this.#socket.terminate();
      return;
    }
    if (nowMs - this.#pingedAtMs >= PING_INTERVAL_MS && this.isOpen) {
      this.#pingedAtMs = nowMs;
      this.#socket.ping();
    }
  }

  /**
   * One answer at a time, to the newest ping (RFC 6455 section 5.5.3): agents put pings between their frames to measure the link,
   * and hundreds may come at once. ws by itself would answer each, and give up a connection that has 60 to be answered.
   */
  #answerPing(): void {
    if (this.#isAnswering || this.#pingDue === undefined || !this.isOpen) return;
    const data = this.#pingDue;
    this.#pingDue = undefined;
    this.#isAnswering = true;
    this.#socket.pong(data, false, () => {
      this.#isAnswering = false;
      this.#answerPing();
    });
  }

  // What its socket calls:

  frame(data: RawData, isBinary: boolean): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (!isBinary) {
      this.close(CloseCode.unsupportedData, 'text frames are not part of this protocol');
      return;
    }
    try {
      const message = this.#reader.accept(asBytes(data));
      if (message) this.#listener?.accept(message);
    } catch (error) {
      if (error instanceof LinkError) {
        this.#log.warn({ robot: this.#robotId, reason: error.message }, 'robot sent what the link does not allow');
        this.close(error.closeCode, error.message);
      } else {
        this.#log.error({ robot: this.#robotId, err: error }, 'robot message failed');
        this.close(CloseCode.internalError, 'internal error');
      }
    }
  }

  pinged(data: Buffer): void {
    this.#pingDue = data;
    this.#answerPing();
  }

  failed(error: Error): void {
    this.#log.debug({ robot: this.#robotId, err: error }, 'robot connection error');
  }

  closed(code: number): void {
    if (this.#ended) return;
    this.#ended = true;
    // 1006 is what ws reports where no close frame came (RFC 6455 section 7.1.5).
    this.#listener?.ended(this.#silent ? 'silent' : code === 1006 ? 'reset' : 'clean');
  }
}

function connectionOf(socket: WebSocket): Connection | undefined {
  return socket instanceof RobotSocket ? socket.connection : undefined;
}

function onMessage(this: WebSocket, data: RawData, isBinary: boolean): void {
  connectionOf(this)?.frame(data, isBinary);
}

function onPing(this: WebSocket, data: Buffer): void {
  connectionOf(this)?.pinged(data);
}

function onError(this: WebSocket, error: Error): void {
  connectionOf(this)?.failed(error);
}

function onClose(this: WebSocket, code: number): void {
  connectionOf(this)?.closed(code);
}

function asBytes(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}

/** Cuts to the bytes a close frame has, not through the middle of a character. */
function cut(reason: string): string {
  const bytes = Buffer.from(reason);
  if (bytes.byteLength <= CLOSE_REASON_BYTES_MAX) return reason;
  return bytes.subarray(0, CLOSE_REASON_BYTES_MAX).toString().replace(/�+$/u, '');
}
