import { READER_NODE_PREFIX } from '../agent-nodes.js';
import type { Admitted } from '../guard.js';
import { QOS, type RclNode } from './api.js';
import { topicType } from './cdr-types.js';
import { type Connection, rosError } from './connection.js';
import type { TopicQos } from './topic-qos.js';

/** A node with nothing on it but the subscription: 1.5 ms and 0.16 MiB. */
const LEAN = { startParameterServices: false, startTypeDescriptionService: false, enableRosout: false };

let readers = 0;

/**
 * One raw subscription on a node of its own that is never spun: what comes in stays in ROS until it is taken, and what
 * is not taken in time ROS drops, unseen by JavaScript. That makes sampling a fast topic three times cheaper than a
 * spun subscription.
 */
export class TopicReader {
  readonly qos: TopicQos;
  readonly #node: RclNode;
  readonly #admitted: Admitted;
  readonly #taken: Buffer[] = [];
  #closed = false;

  /** @throws RosError | QuarantinedError */
  constructor(connection: Connection, options: ReaderOptions, qos: TopicQos) {
    this.qos = qos;
    const { topic: name, type } = options;
    this.#admitted = connection.guard.admit({ kind: 'subscription', name, type });
    this.#node = this.#admitted.during(() => this.#subscribe(connection, options));
  }

  #subscribe({ rcl, context, namespace, onNative }: Connection, { topic, type, depth }: ReaderOptions): RclNode {
    readers += 1;
    const node = new rcl.Node(`${READER_NODE_PREFIX}${readers}`, namespace, context, LEAN);
    const reliability = this.qos.reliable ? QOS.reliable : QOS.bestEffort;
    const durability = this.qos.transientLocal ? QOS.transientLocal : QOS.volatile;
    try {
      node.createSubscription(
        topicType(type),
        topic,
        { isRaw: true, qos: new rcl.QoS(QOS.keepLast, depth, reliability, durability) },
        // Called by native code, which must not see anything thrown.
        (cdr) => {
          onNative?.(topic);
          this.#taken.push(cdr);
        },
      );
      return node;
    } catch (cause) {
      node.destroy();
      throw rosError(`could not subscribe to ${topic}`, cause);
    }
  }

  /** What waits, oldest first, at most `max` messages. @throws what ROS does */
  take(max: number): Buffer[] {
    this.#admitted.during(() => {
      while (this.#taken.length < max) {
        const before = this.#taken.length;
        this.#node.spinOnce(0);
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
