import type { SimulatedClock } from './clock.js';

interface Timer {
  readonly atMs: number;
  readonly callback: () => void;
}

/** A clock that stands until it is advanced by hand. */
export class ManualClock implements SimulatedClock {
  #elapsedMs = 0;
  #timers: Timer[] = [];

  /** Wall time at the start; may be changed, as a robot's clock jumps. */
  epochMs = Date.UTC(2026, 0, 1);

  now(): number {
    return this.epochMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.#elapsedMs + Math.max(0, delayMs), callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Runs what comes due, each at its time and in order, and lets promises settle in between. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#elapsedMs + ms;
    await settled();
    for (;;) {
      const next = this.#timers.reduce<Timer | null>(
        (earliest, timer) => (earliest === null || timer.atMs < earliest.atMs ? timer : earliest),
        null,
      );
      if (next === null || next.atMs > endMs) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#elapsedMs = Math.max(this.#elapsedMs, next.atMs);
      next.callback();
      await settled();
    }
    this.#elapsedMs = endMs;
  }

  /** Time passes while the process is blocked: nothing runs. */
  block(ms: number): void {
    this.#elapsedMs += ms;
  }
}

/** Once all promises that can settle now have. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
