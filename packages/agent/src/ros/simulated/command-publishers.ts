import type { PublishRequest } from '../graph.js';
import type { Changes } from './changes.js';
import { DEFAULT_QOS } from './qos.js';
import type { Publisher, Topics } from './topics.js';

/** Publishers kept for the next command to the same topic; the one used longest ago goes beyond this number. */
const PUBLISHERS_MAX = 100;

interface Kept {
  readonly publisher: Publisher;
  /** The publish before, so that messages of one topic keep their order while the first waits for a subscriber. */
  last: Promise<unknown>;
  isFirst: boolean;
}

/** The agent's publishers for commands: made at a topic's first command, reliable, depth 10. */
export class CommandPublishers {
  readonly #node: string;
  readonly #topics: Topics;
  readonly #changes: Changes;
  readonly #kept = new Map<string, Kept>();

  constructor(node: string, topics: Topics, changes: Changes) {
    this.#node = node;
    this.#topics = topics;
    this.#changes = changes;
  }

  /**
   * The first message of a publisher waits for a matched subscriber, and goes out at the deadline without one. The agent's
   * own streams don't count: they only record.
   */
  publish(request: PublishRequest): Promise<{ matchedSubscribers: number }> {
    const kept = this.#publisher(request);
    const publish = async () => {
      if (kept.isFirst) {
        await this.#changes.find(() => (kept.publisher.heardByOthers > 0 ? true : undefined), {
          timeoutMs: request.matchTimeoutMs,
        });
      }
      this.#changes.check();
      request.signal?.throwIfAborted();
      kept.isFirst = false;
      kept.publisher.publish(request.cdr.slice());
      return { matchedSubscribers: kept.publisher.heardByOthers };
    };
    const published = kept.last.then(publish, publish);
    kept.last = published.catch(() => {});
    return published;
  }

  close(): void {
    for (const { publisher } of this.#kept.values()) publisher.close();
    this.#kept.clear();
  }

  #publisher({ topic, type, latched }: PublishRequest): Kept {
    const key = `${topic} ${type} ${latched}`;
    let kept = this.#kept.get(key);
    if (!kept) {
      const qos = latched ? { ...DEFAULT_QOS, durability: 'transient_local' as const } : DEFAULT_QOS;
      kept = {
        publisher: this.#topics.advertise(this.#node, topic, type, qos),
        last: Promise.resolve(),
        isFirst: true,
      };
    }
    // Last in the map is what was used last.
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    if (this.#kept.size > PUBLISHERS_MAX) {
      const [oldest] = this.#kept;
      if (oldest) {
        oldest[1].publisher.close();
        this.#kept.delete(oldest[0]);
      }
    }
    return kept;
  }
}
