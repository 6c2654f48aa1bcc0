import type { Socket } from 'node:net';
import { FrameReader, FrameWriter, LinkError } from '@drover/shared/link/codec';
import type { DownMessage } from '@drover/shared/link/down';
import { CloseCode, LINK_SUBPROTOCOL, YIELD_HEADER } from '@drover/shared/link/protocol';
import type { UpMessage } from '@drover/shared/link/up';
import type { Welcome } from '@drover/shared/link/welcome';
import { type RawData, WebSocket } from 'ws';
import { Outbox } from './outbox.js';
import type { LinkEnd } from './retry.js';
import { SendWindow } from './send-window.js';
import type { LinkTiming } from './timing.js';

/** The most of a close reason that fits a control frame (RFC 6455 section 5.5). */
const REASON_BYTES_MAX = 123;

export interface SessionOptions {
  readonly url: string;
  readonly token: string;
  /** After a `replaced`: connect only while no other agent is. */
  readonly yielding: boolean;
  readonly timing: LinkTiming;
  readonly monotonicNow: () => number;
  /** Written when the socket opens. */
  readonly hello: () => UpMessage;
  readonly onWelcome: (welcome: Welcome) => void;
  readonly onMessage: (message: Exclude<DownMessage, Welcome>) => void;
}

/**
 * One websocket session:
 *
 *     connecting --open--> greeting --welcome--> standing
 *         |                    |                     |
 *         +--------------------+---------------------+--error, close, silence, close()--> ended
 *
 * Liveness: both sides ping; any byte received counts, also those of a frame that is still arriving. Silence is counted
 * in ticks of a timer, not by a clock: a process that was stopped or suspended first reads what is waiting for it.
 */
export class Session {
  /** Settles when the session is over; never rejects. */
  readonly ended: Promise<LinkEnd>;
  readonly #options: SessionOptions;
  readonly #socket: WebSocket;
  readonly #outbox: Outbox;
  readonly #reader = FrameReader.down();
  readonly #window = new SendWindow();
  readonly #timers: NodeJS.Timeout[] = [];
  #state: 'connecting' | 'greeting' | 'standing' | 'ended' = 'connecting';
  #stream: Socket | null = null;
  #isCorked = false;
  #bytesSeen = 0;
  #silentMs = 0;
  #settle: (end: LinkEnd) => void = () => {};
  #closing: LinkEnd | null = null;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    const socket = new WebSocket(options.url, LINK_SUBPROTOCOL, {
      headers: { authorization: `Bearer ${options.token}`, ...(options.yielding && { [YIELD_HEADER]: '1' }) },
      handshakeTimeout: options.timing.connectTimeoutMs,
      perMessageDeflate: false,
      // The cloud's frames are bounded by the codec; this bounds what is put together before it is asked.
      maxPayload: 64 * 1024,
    });
    this.#socket = socket;
    this.#outbox = new Outbox(new FrameWriter<UpMessage>(), {
      windowOpen: () => this.#window.isOpen,
      frameBytes: () => this.#window.frameBytes,
      write: (frame) => this.#write(frame),
      together: (write) => this.#together(write),
    });
    socket.on('upgrade', (response) => {
      this.#stream = response.socket;
    });
    socket.on('unexpected-response', (request, response) => {
      request.destroy();
      const { location: reason = '', 'retry-after': retryAfter = '' } = response.headers;
      const retryAfterS = /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : null;
      this.#end({ kind: 'refused', status: response.statusCode ?? 0, reason, retryAfterS });
    });
    socket.on('open', () => this.#opened());
    socket.on('message', (data, isBinary) => this.#received(data, isBinary));
    socket.on('pong', (data) => this.#arrived(data));
    socket.on('error', (error) => this.#failed(error));
    socket.on('close', (code, reason) => this.#end({ kind: 'closed', code, reason: reason.toString() }));
  }

  /**
   * Queues a message; with a key it replaces a waiting one of the same key. Nothing happens once the session is over:
   * who must know waits for the cloud's acknowledgement.
   */
  send(message: UpMessage, key: string | null = null): void {
    if (this.#state !== 'standing' || this.#closing) return;
    this.#guard(() => this.#outbox.add(message, key));
  }

  /** Ends the session; `end`, where given, is what `ended` settles with. */
  close(code: CloseCode | 1000, reason: string, end: LinkEnd | null = null): void {
    if (this.#state === 'ended') return;
    this.#closing ??= end ?? { kind: 'closed', code, reason };
    if (this.#socket.readyState === WebSocket.OPEN) {
      this.#socket.close(code, cut(reason));
      this.#timers.push(setTimeout(() => this.#terminate(), this.#options.timing.closeTimeoutMs));
    } else {
      this.#terminate();
    }
  }

  #opened(): void {
    const { timing, hello, monotonicNow } = this.#options;
    this.#state = 'greeting';
    this.#timers.push(
      setInterval(() => this.#socket.ping(), timing.pingIntervalMs),
      setInterval(() => this.#tick(), timing.tickMs),
      setTimeout(() => {
        if (this.#state === 'greeting') this.close(CloseCode.silent, 'no welcome in time');
      }, timing.welcomeTimeoutMs),
    );
    this.#socket.ping(String(this.#window.probe(monotonicNow())));
    this.#guard(() => this.#outbox.add(hello()));
  }

  #received(data: RawData, isBinary: boolean): void {
    if (this.#closing) return;
    this.#guard(() => {
      if (!isBinary) throw new LinkError(CloseCode.unsupportedData, 'a text frame');
      const message = this.#reader.accept(asBytes(data));
      if (message) this.#accept(message);
    });
  }

  #accept(message: DownMessage): void {
    if (message.kind === 'welcome') {
      if (this.#state !== 'greeting') throw new LinkError(CloseCode.badMessage, 'welcome came twice');
      this.#state = 'standing';
      this.#options.onWelcome(message);
    } else {
      if (this.#state !== 'standing') throw new LinkError(CloseCode.badMessage, `${message.kind} before welcome`);
      this.#options.onMessage(message);
    }
  }

  /** A large message has many frames: a system call for all of them, not for each. */
  #together(write: () => void): void {
    this.#stream?.cork();
    try {
      write();
    } finally {
      this.#stream?.uncork();
    }
  }

  #write(frame: Uint8Array): void {
    this.#cork();
    this.#socket.send(frame);
    this.#window.sent(frame.byteLength);
    this.#mark();
  }

  #mark(): void {
    const mark = this.#window.markDue(this.#options.monotonicNow());
    if (mark !== null) this.#socket.ping(String(mark));
  }

  /** What is written in this turn leaves in one piece: the cloud is woken once for it. */
  #cork(): void {
    const stream = this.#stream;
    if (!stream || this.#isCorked) return;
    this.#isCorked = true;
    stream.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      stream.uncork();
    });
  }

  /** A pong: of a mark, or (empty) of the heartbeat. */
  #arrived(data: Buffer): void {
    if (this.#state === 'ended' || this.#closing || data.byteLength === 0) return;
    this.#window.arrived(Number(data.toString()), this.#options.monotonicNow());
    this.#guard(() => this.#outbox.pump());
    this.#mark();
  }

  /** A frame that can't be accepted or made ends the session with its code; so does a defect, and nothing more. */
  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      const code = error instanceof LinkError ? error.closeCode : CloseCode.internalError;
      this.close(code, error instanceof Error ? error.message : String(error));
    }
  }

  #tick(): void {
    const { tickMs, silenceMaxMs } = this.#options.timing;
    const bytes = this.#stream?.bytesRead ?? 0;
    this.#silentMs = bytes === this.#bytesSeen ? this.#silentMs + tickMs : 0;
    this.#bytesSeen = bytes;
    if (this.#silentMs < silenceMaxMs) return;
    this.#closing ??= { kind: 'unreachable', reason: `nothing heard for ${silenceMaxMs / 1000} s` };
    this.#terminate();
  }

  #failed(error: Error): void {
    const code = 'code' in error && typeof error.code === 'string' ? `${error.code} ` : '';
    const end: LinkEnd = { kind: 'unreachable', reason: `${code}${error.message}` };
    // An open socket still gets its close event, which ends the session.
    if (this.#state === 'connecting') this.#end(end);
    else this.#closing ??= end;
  }

  #terminate(): void {
    this.#socket.terminate();
    // A terminated socket's own close event may wait for the peer; nobody else should.
    this.#end({ kind: 'closed', code: 1006, reason: '' });
  }

  #end(end: LinkEnd): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    for (const timer of this.#timers) clearTimeout(timer);
    this.#settle(this.#closing ?? end);
  }
}

function asBytes(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}

/** Cut to the bytes a close frame takes, at a character. */
function cut(reason: string): string {
  let text = reason;
  while (Buffer.byteLength(text) > REASON_BYTES_MAX) text = text.slice(0, -1);
  return text;
}
