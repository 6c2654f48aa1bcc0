import { setImmediate, setTimeout } from 'node:timers/promises';
import { DefinitionError } from '@drover/shared/ros/definitions';
import { isAgentNode } from '../agent-nodes.js';
import type { Definitions } from '../definitions.js';
import { type PublishRequest, RosError } from '../graph.js';
import type { Admitted } from '../guard.js';
import { QOS, type RclPublisher, type TopicEndpoint } from './api.js';
import { topicType } from './cdr-types.js';
import { type Connection, KEPT_MAX, rosError } from './connection.js';
import { Kept } from './kept.js';
import { Pace } from './pace.js';
import { abortable, waitUntil } from './waiting.js';

/** Messages kept for a slow subscriber, and for a late one where latched. */
const DEPTH = 10;

/**
 * How long a best-effort subscriber may take to match a publisher that has matched it: until then it drops what it
 * gets. (A reliable one asks for it again.)
 */
const BEST_EFFORT_MATCH_MS = 100;

/**
 * A participant that has just joined may not have met the others yet: where its first announcements are missed, the next
 * comes after Fast DDS's 3 s. So until this long after joining, that nobody subscribes is not believed.
 */
const JOINING_MS = 5_000;

/**
 * So many messages leave in any so many milliseconds: a burst of commands would push most of itself out of a subscriber's
 * queue (10 messages, as a rule) before that had a chance to look. One that stands still for twice the window, whenever that
 * begins, loses nothing. Seen with rclpy: of 100 at once 30 arrive, of 100 at this pace all, where the machine is not too
 * busy to run it. A message by itself does not wait.
 */
const BURST = { size: 5, windowMs: 14 };

/**
 * How long the first message of a publisher may take to be acknowledged before more than a few follow: a subscriber that
 * is slower to match the publisher than the other way round gets what the publisher still has, and that is DEPTH.
 */
const FIRST_ACK_MS = 200;

/** As long as the number of subscribers stays, who they are is looked at again after this long. */
const LOOK_MS = 1_000;

interface TopicPublisher {
  readonly publisher: RclPublisher;
  readonly latched: boolean;
  readonly admitted: Admitted;
  /** Lets messages through in the order of the calls, no faster than BURST. */
  readonly pace: Pace;
  /** Who only records, when that was last looked at: a look costs more than a message. */
  look: { readonly matched: number; readonly atMs: number; readonly recorders: number };
  /** Messages under way; it is not let go before they are out. */
  publishing: number;
  /** From the first message on: settles once the subscribers have it, or the wait for that is over. */
  firstArrival: Promise<void> | undefined;
  /** Settles once the subscribers that are there have been discovered, or the wait for them is over. */
  readonly matched: Promise<void>;
}

/**
 * The topics published to. A publisher is kept after its first message, so that only that one waits for discovery. An
 * idle one is let go, but for latched ones: what they have published would go with them, so only a want of room does it.
 */
export class Publishers {
  readonly #connection: Connection;
  readonly #definitions: Definitions;
  readonly #kept: Kept<TopicPublisher>;

  constructor(connection: Connection, definitions: Definitions) {
    this.#connection = connection;
    this.#definitions = definitions;
    this.#kept = new Kept({
      max: KEPT_MAX,
      idleMs: connection.idleMs,
      now: connection.now,
      mayGo: ({ latched, publishing }, why) => publishing === 0 && (why === 'room' || !latched),
      letGo: ({ publisher, admitted }) => admitted.during(() => connection.node.destroyPublisher(publisher)),
    });
  }

  /** @throws UnknownTypeError | QuarantinedError | RosError | GraphStoppedError */
  async publish(request: PublishRequest): Promise<{ matchedSubscribers: number }> {
    const { stopped } = this.#connection;
    const { topic, type, latched, cdr } = request;
    if (!isCdr(cdr)) throw new RosError(`what is to be published to ${topic} is no CDR`);
    await abortable(stopped, this.#definitions.getOf('msg', type));
    const key = `${latched} ${type} ${topic}`;
    const kept = this.#kept.get(key, () => this.#make(request));
    const { publisher, matched, pace, admitted } = kept;
    kept.publishing += 1;
    try {
      // All wait for the same promise, which settles them in the order of the calls.
      await matched;
      await pace.turn();
      stopped.throwIfAborted();
      request.signal?.throwIfAborted();
      // A copy of its own: the caller may go on writing into the same memory.
      admitted.during(() => publisher.publish(Buffer.from(cdr)));
      kept.firstArrival ??= this.#acknowledged(kept);
      return { matchedSubscribers: this.#actors(kept, request) };
    } catch (cause) {
      stopped.throwIfAborted();
      request.signal?.throwIfAborted();
      throw rosError(`could not publish to ${topic}`, cause);
    } finally {
      kept.publishing -= 1;
      this.#kept.touch(key);
    }
  }

  /** Lets idle ones go; to be called now and then. */
  sweep(): void {
    this.#kept.sweep();
  }

  #make(request: PublishRequest): TopicPublisher {
    const { rcl, node, guard } = this.#connection;
    const { topic, type, latched } = request;
    const admitted = guard.admit({ kind: 'publisher', name: topic, type });
    const qos = new rcl.QoS(QOS.keepLast, DEPTH, QOS.reliable, latched ? QOS.transientLocal : QOS.volatile);
    let publisher: RclPublisher;
    try {
      publisher = admitted.during(() => node.createPublisher(topicType(type), topic, { qos }));
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      if (reason.includes('rosidl_typesupport')) {
        throw new DefinitionError(type, `its library does not load (is its workspace sourced?): ${reason}`, { cause });
      }
      // Fast DDS's words. Streams and commands are of one participant, which may know a topic as one type only.
      const remedy = reason.includes('incompatible type')
        ? ` as ${type}, for the agent uses it as another type: delete the stream of the other type`
        : '';
      throw rosError(`could not make a publisher of ${topic}${remedy}`, cause);
    }
    // Whoever waits for it looks himself whether the graph was stopped.
    const matched = this.#match(publisher, request).catch(() => {});
    const { now, stopped } = this.#connection;
    // Timers know whole milliseconds, and made of less than one they take one and more: five of a burst would be late by that each.
    const sleep = (ms: number) => abortable(stopped, ms < 1 ? setImmediate() : setTimeout<void>(Math.floor(ms)));
    const pace = new Pace({ ...BURST, afterFirst: async () => kept.firstArrival, now, sleep });
    const kept: TopicPublisher = {
      publisher,
      latched,
      admitted,
      matched,
      pace,
      look: { matched: 0, atMs: Number.NEGATIVE_INFINITY, recorders: 0 },
      publishing: 0,
      firstArrival: undefined,
    };
    return kept;
  }

  /** Resolves when every reliable subscriber has what was published, or the wait is over. */
  async #acknowledged(kept: TopicPublisher): Promise<void> {
    kept.publishing += 1;
    try {
      const timeout = { timeoutMs: FIRST_ACK_MS, signal: this.#connection.stopped };
      await waitUntil(() => kept.admitted.during(() => kept.publisher.waitForAllAcked(0n)), timeout);
    } catch {
      // Not every middleware can tell. A graph that was stopped is seen by whoever waits.
    } finally {
      kept.publishing -= 1;
    }
  }

  /** How many are matched that act on what they hear. Agents' streams only record, and are no proof that anybody heard. */
  #actors(kept: TopicPublisher, { topic, type, latched }: PublishRequest): number {
    const { node, now } = this.#connection;
    const matched = kept.publisher.subscriptionCount;
    if (matched === 0) return 0;
    if (kept.look.matched !== matched || now() - kept.look.atMs > LOOK_MS) {
      const all = node.getSubscriptionsInfoByTopic(topic).filter((end) => canReceive(end, type, latched));
      kept.look = { matched, atMs: now(), recorders: all.filter((end) => !isActor(end)).length };
    }
    return Math.max(0, matched - kept.look.recorders);
  }

  /** Resolves when those subscribed now are sure to hear the publisher, or the wait is over. */
  async #match(publisher: RclPublisher, request: PublishRequest): Promise<void> {
    const { topic, type, latched, matchTimeoutMs, joiningTimeoutMs = 0 } = request;
    const { node, stopped: signal } = this.#connection;
    const nowMs = this.#connection.now();
    const joiningMs = Math.min(this.#connection.joinedAtMs + JOINING_MS - nowMs, joiningTimeoutMs);
    const timeoutMs = Math.max(matchTimeoutMs, joiningMs);
    const endsAtMs = nowMs + timeoutMs;
    const subscribers = () => node.getSubscriptionsInfoByTopic(topic).filter((end) => canReceive(end, type, latched));
    const isMatched = () => {
      const all = subscribers();
      return all.some(isActor) && publisher.subscriptionCount >= all.length;
    };
    const matched = await waitUntil(isMatched, { timeoutMs, signal });
    if (!matched || !subscribers().some(({ qos_profile }) => qos_profile.reliability === QOS.bestEffort)) return;
    const leftMs = Math.max(endsAtMs - this.#connection.now(), 0);
    await abortable(signal, setTimeout(Math.min(BEST_EFFORT_MATCH_MS, leftMs)));
  }
}

function isActor(subscription: TopicEndpoint): boolean {
  return !isAgentNode(subscription.node_name);
}

/** Whether a subscription can match a reliable publisher of ours. */
function canReceive(subscription: TopicEndpoint, type: string, latched: boolean): boolean {
  return subscription.topic_type === type && (latched || subscription.qos_profile.durability !== QOS.transientLocal);
}

/** Plain CDR with its header; what follows was checked against the definition above the port. */
function isCdr(bytes: Uint8Array): boolean {
  return bytes.byteLength > 4 && bytes[0] === 0 && (bytes[1] === 0 || bytes[1] === 1);
}
