import type { CommandFeedback } from '@drover/shared/link/command';
import { Coalesced } from './coalesced.js';

/** Goals whose feedback waits to be stored; past it the one that has waited longest is left to its next feedback. */
const GOALS_MAX = 256;

/** Actions' feedback on its way to the store. Newest wins while a write is under way: a fast action costs what our disk gives. */
export class NewestFeedback {
  #waiting = new Map<string, unknown>();
  readonly #loop = new Coalesced();
  readonly #store: (newest: ReadonlyMap<string, unknown>) => Promise<void>;

  /** @param store takes the newest of each goal, by uuid */
  constructor(store: (newest: ReadonlyMap<string, unknown>) => Promise<void>) {
    this.#store = store;
  }

  /** Resolves when it, or a newer one, is stored. */
  came({ uuid, feedback }: CommandFeedback): Promise<void> {
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size >= GOALS_MAX && oldest !== undefined) this.#waiting.delete(oldest);
    this.#waiting.set(uuid, feedback);
    return this.#loop.run(() => this.#storeWaiting());
  }

  async #storeWaiting(): Promise<void> {
    const newest = this.#waiting;
    this.#waiting = new Map();
    await this.#store(newest);
  }
}
