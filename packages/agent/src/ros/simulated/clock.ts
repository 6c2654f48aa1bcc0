/** Time as the simulated graph sees it: passed in, so that tests advance it by hand. */
export interface SimulatedClock {
  /** Milliseconds since the Unix epoch: what messages are stamped with. May jump, as a robot's clock does. */
  now(): number;
  /** Milliseconds that only go forward: what periods are measured by. */
  monotonicMs(): number;
  /** Runs `callback` once, later; returns what cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The machine's own clock. Its timers keep no process alive. */
export const systemClock: SimulatedClock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs).unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Runs `tick` each period without drift: every tick is due at a multiple of the period from the start. Ticks that a
 * blocked process missed are skipped, as a ROS timer does.
 * @param tick is told the time since the tick before.
 * @returns what ends it.
 */
export function every(clock: SimulatedClock, periodMs: number, tick: (elapsedMs: number) => void): () => void {
  const startMs = clock.monotonicMs();
  let lastMs = startMs;
  let ended = false;
  let cancel = () => {};
  const schedule = (count: number): void => {
    const delayMs = Math.max(0, startMs + count * periodMs - clock.monotonicMs());
    cancel = clock.after(delayMs, () => {
      if (ended) return;
      const nowMs = clock.monotonicMs();
      const elapsedMs = nowMs - lastMs;
      lastMs = nowMs;
      const passed = Math.floor((nowMs - startMs) / periodMs);
      // Timers may fire a fraction of a millisecond early: that is still this tick.
      schedule(Math.max(passed, count) + 1);
      tick(elapsedMs);
    });
  };
  schedule(1);
  return () => {
    ended = true;
    cancel();
  };
}
