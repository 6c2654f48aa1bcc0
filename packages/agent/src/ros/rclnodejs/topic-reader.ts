import { READER_NODE_PREFIX } from '../agent-nodes.js';
import type { Admitted } from '../guard.js';
import { QOS, type RclNode, type RclSubscription } from './api.js';
import { topicType } from './cdr-types.js';
import { type Connection, rosError } from './connection.js';
import type { TopicQos } from './topic-qos.js';

/** A node with nothing on it but the subscription: 1.5 ms and 0.16 MiB. */
const LEAN = { startParameterServices: false, startTypeDescriptionService: false, enableRosout: false };

/** How often ROS is asked to wait for a message, too: taking alone brings nothing, and says nothing, where it fails. */
const CHECK_MS = 1_000;

let readers = 0;

/**
 * One raw subscription on a node of its own that is never spun: what comes in stays in ROS until it is taken, and what
 * is not taken in time ROS drops, unseen by JavaScript. That makes sampling a fast topic three times cheaper than a
 * spun subscription.
 */
export class TopicReader {
  readonly qos: TopicQos;
  readonly #now: () => number;
  readonly #node: RclNode;
  readonly #handles: readonly unknown[];
  readonly #admitted: Admitted;
  readonly #taken: Buffer[] = [];
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #closed = false;

  /** @throws RosError | QuarantinedError */
  constructor(connection: Connection, options: ReaderOptions, qos: TopicQos) {
    this.qos = qos;
    this.#now = connection.now;
    const { topic: name, type } = options;
    this.#admitted = connection.guard.admit({ kind: 'subscription', name, type });
    const [node, subscription] = this.#admitted.during(() => this.#subscribe(connection, options));
    this.#node = node;
    this.#handles = [subscription.handle];
  }

  #subscribe(
    { rcl, context, namespace, onNative }: Connection,
    { topic, type, depth }: ReaderOptions,
  ): [RclNode, RclSubscription] {
    readers += 1;
    const node = new rcl.Node(`${READER_NODE_PREFIX}${readers}`, namespace, context, LEAN);
    const reliability = this.qos.reliable ? QOS.reliable : QOS.bestEffort;
    const durability = this.qos.transientLocal ? QOS.transientLocal : QOS.volatile;
    try {
      const subscription = node.createSubscription(
        topicType(type),
        topic,
        { isRaw: true, qos: new rcl.QoS(QOS.keepLast, depth, reliability, durability) },
        // Called by native code, which must not see anything thrown.
        (cdr) => {
          onNative?.(topic);
          this.#taken.push(cdr);
        },
      );
      return [node, subscription];
    } catch (cause) {
      node.destroy();
      throw rosError(`could not subscribe to ${topic}`, cause);
    }
  }

  /**
   * What waits, oldest first, at most `max` messages. Taken without waiting: to wait for nothing costs fifty times as much as to
   * find nothing.
   * @throws what ROS does, at the latest CHECK_MS after it began to.
   */
  take(max: number): Buffer[] {
    this.#admitted.during(() => {
      const nowMs = this.#now();
      if (nowMs - this.#checkedAtMs >= CHECK_MS) {
        this.#checkedAtMs = nowMs;
        this.#node.spinOnce(0);
      }
      while (this.#taken.length < max) {
        const before = this.#taken.length;
        this.#node.execute(this.#handles);
        if (this.#taken.length === before) break;
      }
    });
    return this.#taken.splice(0);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#admitted.during(() => this.#node.destroy());
  }
}

export interface ReaderOptions {
  readonly topic: string;
  readonly type: string;
  /** History depth. */
  readonly depth: number;
}
