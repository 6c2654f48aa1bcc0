import type { SubscribeRequest, Subscription } from '../graph.js';
import type { TopicEndpoint } from './api.js';
import type { Connection } from './connection.js';
import type { Definitions } from './definitions.js';
import { Overlap } from './overlap.js';
import { onlyNode, QOS_WITHOUT_PUBLISHERS, qosFollowing, sameQos, type TopicQos } from './topic-qos.js';
import { TopicReader } from './topic-reader.js';
import { abortable } from './waiting.js';

/** How often a topic's publishers are looked at; faster while there are none, so that a best-effort one is soon heard. */
const LOOK_MS = { usual: 1000, noPublisher: 200 };
/** How long a reader stays beside the one that takes over from it, which publishers discover meanwhile. */
const HANDOVER_MS = 1000;
/** How long after that the history of transient local publishers may still arrive. */
const HISTORY_MS = 3000;

/** The topics subscribed to. */
export class Subscriptions {
  readonly #connection: Connection;
  readonly #definitions: Definitions;
  readonly #open = new Set<TopicSubscription>();

  constructor(connection: Connection, definitions: Definitions) {
    this.#connection = connection;
    this.#definitions = definitions;
  }

  /** @throws UnknownTypeError | RosError | GraphStoppedError */
  async subscribe(request: SubscribeRequest): Promise<Subscription> {
    const { stopped } = this.#connection;
    await abortable(stopped, this.#definitions.getOf('msg', request.type));
    stopped.throwIfAborted();
    const subscription = new TopicSubscription(this.#connection, request);
    this.#open.add(subscription);
    return {
      publisher: () => subscription.publisher,
      close: async () => {
        subscription.close();
        this.#open.delete(subscription);
      },
    };
  }

  close(): void {
    for (const subscription of this.#open) subscription.close();
    this.#open.clear();
  }
}

/**
 * One topic, drained on a timer, its QoS following the publishers. When that changes, a new reader is made and the old
 * one goes a second later, so that nothing published in between is lost; what both receive is handed over once.
 */
class TopicSubscription {
  publisher: string | null = null;
  readonly #connection: Connection;
  readonly #request: SubscribeRequest;
  readonly #drainTimer: NodeJS.Timeout;
  #lookTimer: NodeJS.Timeout | undefined;
  #reader: TopicReader;
  #handover: { old: TopicReader | undefined; readonly overlap: Overlap; readonly sinceMs: number } | undefined;
  #closed = false;

  /** @throws RosError */
  constructor(connection: Connection, request: SubscribeRequest) {
    this.#connection = connection;
    this.#request = request;
    const publishers = this.#publishers();
    this.#reader = this.#makeReader(this.#wantedQos(publishers) ?? QOS_WITHOUT_PUBLISHERS);
    this.#see(publishers);
    this.#drainTimer = setInterval(() => this.#drain(), 1000 / request.drainHz).unref();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#drainTimer);
    clearTimeout(this.#lookTimer);
    this.#reader.close();
    this.#handover?.old?.close();
  }

  #drain(): void {
    try {
      const old = this.#handover?.old;
      if (old) this.#hand(old, 'old');
      this.#hand(this.#reader, 'new');
    } catch (err) {
      this.#warn(err, 'messages of a topic could not be taken');
    }
  }

  /** At most as many as ROS keeps, so that a flood can't hold the process. */
  #hand(reader: TopicReader, which: 'old' | 'new'): void {
    for (const cdr of reader.take(this.#request.depth)) {
      // A callback before may have closed it.
      if (this.#closed) return;
      if (this.#handover && !this.#handover.overlap.isFirst(which, cdr)) continue;
      try {
        this.#request.onMessage(cdr);
      } catch (err) {
        this.#warn(err, 'a message of a topic was not taken');
      }
    }
  }

  #look(): void {
    try {
      const publishers = this.#publishers();
      this.#endHandover();
      const wanted = this.#wantedQos(publishers);
      if (wanted && !sameQos(wanted, this.#reader.qos) && !this.#handover?.old) this.#changeReader(wanted);
      this.#see(publishers);
    } catch (err) {
      this.#warn(err, 'the publishers of a topic could not be looked at');
      this.#lookTimer = setTimeout(() => this.#look(), LOOK_MS.usual).unref();
    }
  }

  #see(publishers: readonly TopicEndpoint[]): void {
    this.publisher = onlyNode(publishers);
    const waitMs = publishers.length === 0 || this.#handover ? LOOK_MS.noPublisher : LOOK_MS.usual;
    this.#lookTimer = setTimeout(() => this.#look(), waitMs).unref();
  }

  #changeReader(qos: TopicQos): void {
    // What the old one has received by now was handed over, or will be as the old one's.
    const made = this.#makeReader(qos);
    this.#handover = {
      old: this.#reader,
      overlap: this.#handover?.overlap ?? new Overlap(),
      sinceMs: this.#connection.now(),
    };
    this.#reader = made;
  }

  #endHandover(): void {
    if (this.#handover === undefined) return;
    const { old, sinceMs } = this.#handover;
    const ageMs = this.#connection.now() - sinceMs;
    if (old && ageMs >= HANDOVER_MS) {
      this.#drain();
      old.close();
      this.#handover.old = undefined;
    }
    const historyMs = this.#reader.qos.transientLocal ? HISTORY_MS : 0;
    if (ageMs >= HANDOVER_MS + historyMs) this.#handover = undefined;
  }

  #wantedQos(publishers: readonly TopicEndpoint[]): TopicQos | undefined {
    return qosFollowing(publishers, this.#request.ignoreHistory ?? false);
  }

  /** Those of our type: others of the same topic can't be heard. */
  #publishers(): TopicEndpoint[] {
    const { topic, type } = this.#request;
    return this.#connection.node.getPublishersInfoByTopic(topic).filter(({ topic_type }) => topic_type === type);
  }

  #makeReader(qos: TopicQos): TopicReader {
    return new TopicReader(this.#connection, this.#request, qos);
  }

  #warn(err: unknown, message: string): void {
    this.#connection.log.warn({ err, topic: this.#request.topic }, message);
  }
}
