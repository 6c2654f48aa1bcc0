import { ServerGoneError } from '../graph.js';
import type { Connection } from './connection.js';

/** How often the servers of an action that has a goal under way are looked at. */
const LOOK_MS = 1000;
/**
 * A server that has not come back for this long is gone for good: one that was started anew has forgotten the goal, so
 * only a network that was cut could bring it back. (A killed one vanishes from the graph after DDS's lease of 10 to 20 s.)
 */
const GONE_MS = 10_000;

/**
 * Watches the server that took a goal, since ROS leaves the request for its result pending for ever when it dies. A
 * server is known by the publisher of its status topic, which a restarted one has anew.
 */
export class ServerWatch {
  readonly #connection: Connection;
  readonly #action: string;
  /** The servers that may have the goal. */
  #known: ReadonlySet<string>;
  #missingSinceMs: number | undefined;

  constructor(connection: Connection, action: string) {
    this.#connection = connection;
    this.#action = action;
    this.#known = this.#servers();
  }

  /**
   * What `answer` resolves with, or 'another server' once the one it was asked of is gone and another is there.
   * @throws ServerGoneError where no server came back, GraphStoppedError, and what `answer` rejects with.
   */
  async whileThere<T>(answer: Promise<T>): Promise<T | 'another server'> {
    const { stopped } = this.#connection;
    let timer: NodeJS.Timeout | undefined;
    let abort = () => {};
    try {
      return await new Promise<T | 'another server'>((resolve, reject) => {
        abort = () => reject(stopped.reason);
        stopped.addEventListener('abort', abort, { once: true });
        if (stopped.aborted) abort();
        answer.then(resolve, reject);
        timer = setInterval(() => {
          try {
            if (this.#replaced()) resolve('another server');
          } catch (error) {
            reject(error);
          }
        }, LOOK_MS).unref();
      });
    } finally {
      clearInterval(timer);
      stopped.removeEventListener('abort', abort);
    }
  }

  /** @throws ServerGoneError */
  #replaced(): boolean {
    const servers = this.#servers();
    if (servers.size === 0) {
      const nowMs = this.#connection.now();
      this.#missingSinceMs ??= nowMs;
      if (nowMs - this.#missingSinceMs >= GONE_MS) throw new ServerGoneError(this.#action);
      return false;
    }
    this.#missingSinceMs = undefined;
    const replaced = this.#known.size > 0 && ![...servers].some((server) => this.#known.has(server));
    if (replaced || this.#known.size === 0) this.#known = servers;
    return replaced;
  }

  #servers(): ReadonlySet<string> {
    const statuses = this.#connection.node.getPublishersInfoByTopic(`${this.#action}/_action/status`);
    return new Set(statuses.map(({ endpoint_gid }) => endpoint_gid.join()));
  }
}
