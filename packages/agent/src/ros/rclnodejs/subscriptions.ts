import type { Definitions } from '../definitions.js';
import type { SubscribeRequest, Subscription, TopicSight } from '../graph.js';
import type { TopicEndpoint } from './api.js';
import type { Connection } from './connection.js';
import { giveBack } from './give-back.js';
import { Overlap } from './overlap.js';
import { RecentMessages } from './recent-messages.js';
import {
  isHeard,
  keepsHistory,
  onlyNode,
  QOS_WITHOUT_PUBLISHERS,
  qosFollowing,
  sameQos,
  type TopicQos,
} from './topic-qos.js';
import { TopicReader } from './topic-reader.js';
import { abortable } from './waiting.js';

/**
 * How often a topic's publishers are looked at; `soon` while there are none, so that a best-effort one is soon heard.
 * rclnodejs has no event for a graph that changes; but to count publishers costs a fifteenth of looking at them, and
 * another count has them looked at at once.
 */
const LOOK_MS = { usual: 500, soon: 200 };
const COUNT_MS = 40;
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
      sight: () => subscription.sight(),
      release: (cdr) => subscription.release(cdr),
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
  #drainTimer: NodeJS.Timeout | undefined;
  #resting = false;
  /** A look that does not wait for a drain. */
  #lookTimer: NodeJS.Timeout | undefined;
  #lookDueMs = Number.POSITIVE_INFINITY;
  #reader: TopicReader;
  /** The reader before, while it stays beside the new one. */
  #oldReader: TopicReader | undefined;
  #changedAtMs = Number.NEGATIVE_INFINITY;
  /** There while a message may come twice: by two readers, or live and then in a history. */
  #overlap: Overlap | undefined;
  /**
   * While no message is expected twice: should a publisher that keeps a history turn out to be there already, what it has
   * sent will come again.
   */
  readonly #recent = new RecentMessages();
  /** ROS failed to take from the reader; the next look makes another. */
  #broken = false;
  #publishers: readonly TopicEndpoint[] = [];
  #countedAtMs = Number.NEGATIVE_INFINITY;
  /** Publishers of whatever type, when they were last counted. */
  #seenCount = 0;
  #otherTypes: readonly string[] = [];
  #problem: string | null = null;
  #closed = false;

  /** @throws RosError */
  constructor(connection: Connection, request: SubscribeRequest) {
    this.#connection = connection;
    this.#request = request;
    const publishers = this.#publishersNow();
    this.#reader = this.#makeReader(this.#wantedQos(publishers) ?? QOS_WITHOUT_PUBLISHERS);
    this.#see(publishers);
    this.#drainAgain();
  }

  sight(): TopicSight {
    const { qos } = this.#reader;
    return {
      publishers: this.#publishers.length,
      unheard: this.#publishers.filter((publisher) => !isHeard(publisher, qos)).length,
      otherTypes: this.#otherTypes,
      qos,
      problem: this.#problem,
    };
  }

  /** Where its bytes may still tell that it comes again, it stays: not after a rest, of which most is gone unseen as it is. */
  release(cdr: Uint8Array): void {
    if (this.#resting || this.#overlap || this.#request.ignoreHistory) giveBack(cdr);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#drainTimer);
    clearTimeout(this.#lookTimer);
    this.#reader.close();
    this.#oldReader?.close();
  }

  #drainAgain(): void {
    this.#resting = false;
    clearTimeout(this.#drainTimer);
    if (this.#closed) return;
    this.#drainTimer = setInterval(() => this.#turn(), 1000 / this.#request.drainHz).unref();
  }

  /** All that is done on time is done at once: to wake up costs an idle process more than what it wakes up for. */
  #turn(): void {
    if (this.#connection.now() >= this.#lookDueMs) this.#look();
    if (this.#closed) return;
    this.#drain();
    // Once what was drained has been looked at, for which the subscriber waits for the end of the drain.
    queueMicrotask(() => this.#restOn());
  }

  /** What is not taken costs nothing: ROS lets go of it, unseen by JavaScript. */
  #restOn(): void {
    const restMs = this.#request.restMs?.() ?? 0;
    const rests = restMs > 0 && this.#mayRest();
    if (this.#closed || (!rests && !this.#resting)) return;
    if (!rests) {
      this.#drainAgain();
      return;
    }
    clearTimeout(this.#drainTimer);
    this.#resting = true;
    this.#drainTimer = setTimeout(() => this.#turn(), restMs).unref();
  }

  /** Not while messages are told apart from their copies, which takes all of them, nor while somebody new is waited for. */
  #mayRest(): boolean {
    return !this.#overlap && !this.#oldReader && !this.#broken && this.#publishers.length > 0;
  }

  #drain(): void {
    this.#count();
    if (this.#broken) return;
    try {
      if (this.#oldReader) this.#hand(this.#oldReader, 'old');
      if (!this.#closed) this.#hand(this.#reader, 'new');
    } catch (err) {
      this.#broken = true;
      this.#problem = wordsOf(err);
      this.#warn(err, 'messages of a topic could not be taken');
    }
  }

  /** Looks as soon as somebody came or went. */
  #count(): void {
    const nowMs = this.#connection.now();
    if (this.#closed || nowMs - this.#countedAtMs < COUNT_MS) return;
    this.#countedAtMs = nowMs;
    try {
      const count = this.#connection.node.countPublishers(this.#request.topic);
      if (count === this.#seenCount) return;
      this.#seenCount = count;
      this.#lookIn(0);
    } catch {
      // The next look says what is wrong.
    }
  }

  /** At most as many as ROS keeps, so that a flood can't hold the process. */
  #hand(reader: TopicReader, which: 'old' | 'new'): void {
    for (const cdr of reader.take(this.#request.depth)) {
      // A callback before may have closed it.
      if (this.#closed) return;
      if (this.#overlap) {
        if (!this.#overlap.isFirst(which, cdr)) continue;
      } else if (!this.#request.ignoreHistory) {
        this.#recent.add(cdr, this.#connection.now());
      }
      try {
        this.#request.onMessage(cdr);
      } catch (err) {
        this.#warn(err, 'a message of a topic was not taken');
      }
    }
  }

  #look(): void {
    try {
      const publishers = this.#publishersNow();
      this.#closeOldReader();
      if (this.#broken) this.#replaceReader();
      const wanted = this.#wantedQos(publishers);
      const ready = !this.#oldReader || publishers.some((publisher) => !this.#hears(publisher));
      if (wanted && ready && !sameQos(wanted, this.#reader.qos)) this.#changeReader(wanted);
      this.#see(publishers);
      this.#problem = null;
    } catch (err) {
      this.#problem = wordsOf(err);
      this.#warn(err, 'the publishers of a topic could not be looked at');
      this.#lookIn(LOOK_MS.usual);
    }
  }

  #see(publishers: readonly TopicEndpoint[]): void {
    this.#publishers = publishers;
    this.publisher = onlyNode(publishers);
    if (this.#mayComeTwice(publishers)) this.#overlap ??= this.#beginOverlap();
    else this.#overlap = undefined;
    if (this.#resting && !this.#mayRest()) this.#drainAgain();
    // No sooner than it is drained: who is heard at twice a second need not be found sooner.
    const soonMs = Math.max(LOOK_MS.soon, 1000 / this.#request.drainHz);
    this.#lookIn(publishers.length === 0 || this.#oldReader ? soonMs : LOOK_MS.usual);
  }

  /** Whether one of the readers is connected with it. */
  #hears(publisher: TopicEndpoint): boolean {
    return [this.#reader, this.#oldReader].some((reader) => reader && isHeard(publisher, reader.qos));
  }

  #lookIn(ms: number): void {
    if (this.#closed) return;
    clearTimeout(this.#lookTimer);
    const drainMs = 1000 / this.#request.drainHz;
    // Half a drain early rather than half a drain late.
    this.#lookDueMs = this.#connection.now() + ms - drainMs / 2;
    if (ms < drainMs) this.#lookTimer = setTimeout(() => this.#look(), ms).unref();
  }

  #changeReader(qos: TopicQos): void {
    const made = this.#makeReader(qos);
    // Still there where the new one comes early, because somebody is heard by neither.
    this.#oldReader?.close();
    this.#oldReader = this.#reader;
    this.#reader = made;
    this.#changedAtMs = this.#connection.now();
    this.#overlap ??= this.#beginOverlap();
    this.#overlap.handOver();
  }

  #beginOverlap(): Overlap {
    const overlap = new Overlap(this.#request.depth);
    for (const cdr of this.#recent.take()) overlap.isFirst('new', cdr);
    return overlap;
  }

  #replaceReader(): void {
    this.#oldReader?.close();
    this.#oldReader = undefined;
    this.#reader.close();
    this.#reader = this.#makeReader(this.#reader.qos);
    this.#broken = false;
  }

  #closeOldReader(): void {
    if (this.#oldReader === undefined || this.#connection.now() - this.#changedAtMs < HANDOVER_MS) return;
    this.#drain();
    this.#oldReader?.close();
    this.#oldReader = undefined;
  }

  /** Whether a message of now may be one that was, or will be, received another time. */
  #mayComeTwice(publishers: readonly TopicEndpoint[]): boolean {
    if (this.#oldReader) return true;
    const { transientLocal } = this.#reader.qos;
    if (transientLocal) return this.#connection.now() - this.#changedAtMs < HANDOVER_MS + HISTORY_MS;
    // Of a publisher that keeps a history, should the subscription follow it to that.
    return !this.#request.ignoreHistory && (publishers.length === 0 || publishers.some(keepsHistory));
  }

  #wantedQos(publishers: readonly TopicEndpoint[]): TopicQos | undefined {
    return qosFollowing(publishers, this.#request.ignoreHistory ?? false);
  }

  /** Those of our type: others of the same topic can't be heard. */
  #publishersNow(): TopicEndpoint[] {
    const { topic, type } = this.#request;
    const all = this.#connection.node.getPublishersInfoByTopic(topic);
    const others = all.map(({ topic_type }) => topic_type).filter((other) => other !== type);
    this.#otherTypes = [...new Set(others)].sort();
    return all.filter(({ topic_type }) => topic_type === type);
  }

  #makeReader(qos: TopicQos): TopicReader {
    return new TopicReader(this.#connection, this.#request, qos);
  }

  #warn(err: unknown, message: string): void {
    this.#connection.log.warn({ err, topic: this.#request.topic }, message);
  }
}

function wordsOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
