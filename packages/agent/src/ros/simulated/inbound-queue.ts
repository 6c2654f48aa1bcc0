import type { SimulatedClock } from './clock.js';

/**
 * What a subscription holds until it is drained: the newest `depth` messages, older ones are dropped (keep last).
 * Drained at most once a period, in the order of arrival; a message after a pause is handed over at once.
 */
export class InboundQueue {
  readonly #clock: SimulatedClock;
  readonly #depth: number;
  readonly #periodMs: number;
  readonly #take: (cdr: Uint8Array) => void;
  readonly #messages: Uint8Array[] = [];
  #drainedAtMs = Number.NEGATIVE_INFINITY;
  #cancelDrain: (() => void) | null = null;
  #closed = false;

  /** @param take must not throw. */
  constructor(clock: SimulatedClock, depth: number, periodMs: number, take: (cdr: Uint8Array) => void) {
    this.#clock = clock;
    this.#depth = Math.max(1, depth);
    this.#periodMs = periodMs;
    this.#take = take;
  }

  readonly push = (cdr: Uint8Array): void => {
    if (this.#closed) return;
    this.#messages.push(cdr);
    if (this.#messages.length > this.#depth) this.#messages.shift();
    if (this.#cancelDrain) return;
    const delayMs = Math.max(0, this.#drainedAtMs + this.#periodMs - this.#clock.monotonicMs());
    this.#cancelDrain = this.#clock.after(delayMs, () => this.#drain());
  };

  /** Hands over what waits now. */
  drain(): void {
    if (!this.#cancelDrain) return;
    this.#cancelDrain();
    this.#drain();
  }

  close(): void {
    this.#closed = true;
    this.#cancelDrain?.();
    this.#messages.length = 0;
  }

  #drain(): void {
    this.#cancelDrain = null;
    this.#drainedAtMs = this.#clock.monotonicMs();
    // A handler may close the subscription: what waited behind goes with it.
    for (const cdr of this.#messages.splice(0)) if (!this.#closed) this.#take(cdr);
  }
}
