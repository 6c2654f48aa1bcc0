import type { FrameWriter, Framing } from '@drover/shared/link/codec';
import { FRAME_BYTES_MAX } from '@drover/shared/link/protocol';
import type { UpMessage } from '@drover/shared/link/up';

/** Messages of one priority, and what is left of the one whose turn it is. */
interface Queue {
  messages: Waiting[];
  current: Framing | undefined;
}

interface Waiting {
  readonly key: string | null;
  /** Made when the message's turn comes, so that a replaced one costs nothing. */
  readonly begin: () => Framing;
}

/** In the order they go first. `state`: outcomes, feedback, and whatever control message fills several frames. */
const PRIORITIES = ['control', 'state', 'live', 'backfill'] as const;
type Priority = (typeof PRIORITIES)[number];

/** What the outbox needs of the session. pump() is to be called whenever the window may have opened. */
export interface FrameSink {
  /** Whether one more frame of data may be under way. */
  windowOpen(): boolean;
  /** How long that frame may be. */
  frameBytes(): number;
  write(frame: Uint8Array): void;
  /** Calls `write` for several frames, which may then go to the system together. */
  together(write: () => void): void;
}

/**
 * Orders what one session sends. Takes, outcomes and clock requests overtake data between two frames; live data
 * overtakes backfill. Bounded by its callers: the uploader's windows, the outcomes' window, one message a key.
 */
export class Outbox {
  readonly #writer: FrameWriter<UpMessage>;
  readonly #sink: FrameSink;
  readonly #queues: Record<Priority, Queue> = {
    control: { messages: [], current: undefined },
    state: { messages: [], current: undefined },
    live: { messages: [], current: undefined },
    backfill: { messages: [], current: undefined },
  };
  #pumping = false;

  constructor(writer: FrameWriter<UpMessage>, sink: FrameSink) {
    this.#writer = writer;
    this.#sink = sink;
  }

  /**
   * Queues a message. One with a key takes the place of a waiting one with the same key: newest feedback wins, and an
   * outcome over the feedback before it.
   * @throws LinkError where the message is over the wire's bound.
   */
  add(message: UpMessage, key: string | null = null): void {
    if (message.kind === 'batch') {
      this.#queues[message.lane].messages.push({ key, begin: () => this.#writer.framing(message) });
    } else if (key !== null) {
      const { messages } = this.#queues.state;
      const waiting = { key, begin: () => this.#writer.framing(message) };
      const at = messages.findIndex((other) => other.key === key);
      if (at === -1) messages.push(waiting);
      else messages[at] = waiting;
    } else {
      const framing = this.#writer.framing(message);
      const queue = framing.bytes <= FRAME_BYTES_MAX ? this.#queues.control : this.#queues.state;
      queue.messages.push({ key, begin: () => framing });
    }
    this.pump();
  }

  /** Sends as much as the socket should hold. */
  pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      const first = this.#next();
      if (!first) return;
      this.#sink.together(() => {
        for (let frame: Uint8Array | undefined = first; frame; frame = this.#next()) this.#sink.write(frame);
      });
    } finally {
      this.#pumping = false;
    }
  }

  #next(): Uint8Array | undefined {
    const full = !this.#sink.windowOpen();
    for (const priority of PRIORITIES) {
      // Small control frames are few and go at once; everything else keeps to the window.
      if (full && priority !== 'control') return undefined;
      // Cut as long as the link allows now, not as it was when the message began. Control frames are never cut.
      const frame = nextOf(this.#queues[priority], priority === 'control' ? FRAME_BYTES_MAX : this.#sink.frameBytes());
      if (frame) return frame;
    }
    return undefined;
  }
}

function nextOf(queue: Queue, frameBytes: number): Uint8Array | undefined {
  const frame = queue.current?.next(frameBytes);
  if (frame) return frame;
  queue.current = queue.messages.shift()?.begin();
  return queue.current?.next(frameBytes);
}
