import type { TopicEndpoint } from '@drover/shared/link/answers';
import type { TopicInfo, TopicSight } from '../graph.js';
import type { Changes } from './changes.js';
import { announced, followQos, isCompatible, type Qos } from './qos.js';

/**
 * Who publishes and who subscribes, and the way between them. Matching follows DDS: same topic, same type, compatible
 * QoS; a transient local publisher keeps its last `depth` messages and gives them once to a subscription that asks for
 * history. What is published while nothing matches is lost. Holds no queue: a subscription bounds its own.
 */
export class Topics {
  readonly #topics = new Map<string, Topic>();
  readonly #changes: Changes;

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  /** @param node full name of the publishing node. */
  advertise(node: string, topic: string, type: string, qos: Qos): Publisher {
    const place = this.#topic(topic);
    const publisher = new Publisher(node, type, qos, () => {
      if (!place.publishers.delete(publisher)) return;
      publisher.matched = [];
      this.#matched(topic, place);
    });
    place.publishers.add(publisher);
    this.#matched(topic, place);
    return publisher;
  }

  /**
   * @param node full name of the subscribing node.
   * @param qos what the subscription asks for; a function follows the publishers as they come and go.
   * @param deliver receives each message as it is published; must not throw.
   * @returns what ends it.
   */
  subscribe(
    node: string,
    topic: string,
    type: string,
    qos: Qos | ((offers: readonly Qos[]) => Qos),
    deliver: (cdr: Uint8Array) => void,
  ): () => void {
    const place = this.#topic(topic);
    const subscription: Subscription = { node, type, qos, deliver, met: new WeakSet() };
    place.subscriptions.add(subscription);
    this.#matched(topic, place);
    return () => {
      if (place.subscriptions.delete(subscription)) this.#matched(topic, place);
    };
  }

  /** Full name of the only node that publishes the topic, or null. */
  onlyPublisher(topic: string): string | null {
    const nodes = new Set([...(this.#topics.get(topic)?.publishers ?? [])].map((publisher) => publisher.node));
    const [first] = nodes;
    return nodes.size === 1 && first !== undefined ? first : null;
  }

  sightOf(name: string, type: string, wish: (offers: readonly Qos[]) => Qos): TopicSight {
    const all = [...(this.#topics.get(name)?.publishers ?? [])];
    const ofType = all.filter((publisher) => publisher.type === type);
    const qos = wish(ofType.map((publisher) => publisher.qos));
    return {
      publishers: ofType.length,
      unheard: ofType.filter((publisher) => !isCompatible(publisher.qos, qos)).length,
      otherTypes: [...new Set(all.map((publisher) => publisher.type))].filter((other) => other !== type).sort(),
      qos: { reliable: qos.reliability === 'reliable', transientLocal: qos.durability === 'transient_local' },
      problem: null,
    };
  }

  endpointsOf(name: string): { publishers: TopicEndpoint[]; subscribers: TopicEndpoint[] } {
    const topic = this.#topics.get(name);
    if (!topic) return { publishers: [], subscribers: [] };
    return {
      publishers: [...topic.publishers].map(({ node, type, qos }) => ({ node, type, qos: announced(qos) })),
      subscribers: [...topic.subscriptions].map((subscription) => ({
        node: subscription.node,
        type: subscription.type,
        qos: announced(wishOf(topic, subscription).qos),
      })),
    };
  }

  list(): TopicInfo[] {
    return [...this.#topics]
      .map(([name, { publishers, subscriptions }]) => ({
        name,
        types: [...new Set([...publishers, ...subscriptions].map((endpoint) => endpoint.type))].sort(),
        publisherCount: publishers.size,
        subscriberCount: subscriptions.size,
      }))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  #topic(name: string): Topic {
    let topic = this.#topics.get(name);
    if (!topic) {
      topic = { publishers: new Set(), subscriptions: new Set() };
      this.#topics.set(name, topic);
    }
    return topic;
  }

  /** Endpoints changed: connects them anew. */
  #matched(name: string, topic: Topic): void {
    if (topic.publishers.size === 0 && topic.subscriptions.size === 0) {
      this.#topics.delete(name);
    }
    for (const publisher of topic.publishers) publisher.matched = [];
    for (const subscription of topic.subscriptions) {
      const { publishers, qos } = wishOf(topic, subscription);
      for (const publisher of publishers) {
        if (!isCompatible(publisher.qos, qos)) continue;
        publisher.matched.push(subscription);
        if (subscription.met.has(publisher)) continue;
        subscription.met.add(publisher);
        if (qos.durability === 'transient_local') for (const cdr of publisher.history) subscription.deliver(cdr);
      }
    }
    this.#changes.notify();
  }
}

/** The publishers of a subscription's type, and what it asks of them. */
function wishOf(topic: Topic, { type, qos }: Subscription): { publishers: Publisher[]; qos: Qos } {
  const publishers = [...topic.publishers].filter((publisher) => publisher.type === type);
  return { publishers, qos: typeof qos === 'function' ? qos(publishers.map((publisher) => publisher.qos)) : qos };
}

/** QoS for a subscription that follows its topic's publishers. */
export function following(depth: number, ignoreHistory: boolean): (offers: readonly Qos[]) => Qos {
  return (offers) => followQos(offers, depth, ignoreHistory);
}

interface Topic {
  readonly publishers: Set<Publisher>;
  readonly subscriptions: Set<Subscription>;
}

interface Subscription {
  readonly node: string;
  readonly type: string;
  readonly qos: Qos | ((offers: readonly Qos[]) => Qos);
  readonly deliver: (cdr: Uint8Array) => void;
  /** Publishers whose history it was given, or was there to receive: never twice. */
  readonly met: WeakSet<Publisher>;
}

export class Publisher {
  /** Set by Topics. */
  matched: Subscription[] = [];
  readonly history: Uint8Array[] = [];
  readonly #close: () => void;

  constructor(
    readonly node: string,
    readonly type: string,
    readonly qos: Qos,
    close: () => void,
  ) {
    this.#close = close;
  }

  /** How many are matched that are not of the publisher's own node. */
  get heardByOthers(): number {
    return this.matched.filter(({ node }) => node !== this.node).length;
  }

  /** Whether a message published now would go anywhere: else it needs no encoding. */
  get isHeard(): boolean {
    return this.matched.length > 0 || this.qos.durability === 'transient_local';
  }

  publish(cdr: Uint8Array): void {
    if (this.qos.durability === 'transient_local') {
      this.history.push(cdr);
      if (this.history.length > this.qos.depth) this.history.shift();
    }
    for (const subscription of this.matched) subscription.deliver(cdr);
  }

  close(): void {
    this.#close();
  }
}
