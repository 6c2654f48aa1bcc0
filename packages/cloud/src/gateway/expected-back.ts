/** After a start, robots that the store remembers as online have this long to come back before they count as offline. */
const START_GRACE_MS = 20_000;

/**
 * While some of them still come back in each second, the others have longer, up to this: they may stand in the kernel's line for a
 * connection, where we can't see them.
 */
const START_GRACE_MAX_MS = 60_000;

/** So long after the moment that it was told an agent may come, at the latest (planRetry of the agent's link). */
const spreadMs = (toldMs: number) => Math.max(1_000, toldMs / 5);

/** After so long an agent gives up an attempt to connect: until then its robot may stand in our line. */
const ATTEMPT_MS = 10_000;

/**
 * Robots that were online before our start and are not back yet, and which of them count as offline. One that has asked for a session
 * is not lost, but kept waiting by ourselves: it has until the end of that attempt, or of the one that it was told to make later.
 * Holds what the store remembered at the start and nothing else.
 */
export class ExpectedBack {
  /** Until when each is kept, by what we told it. */
  readonly #keptUntilMs: Map<number, number>;
  readonly #startedMs: number;
  readonly #graceMs: number;
  #someCame = false;

  constructor(robotKeys: readonly number[], startedMs: number, graceMs = START_GRACE_MS) {
    this.#keptUntilMs = new Map(robotKeys.map((key) => [key, Number.NEGATIVE_INFINITY]));
    this.#startedMs = startedMs;
    this.#graceMs = graceMs;
  }

  get size(): number {
    return this.#keptUntilMs.size;
  }

  /** It is back. */
  came(robotKey: number): void {
    if (this.#keptUntilMs.delete(robotKey)) this.#someCame = true;
  }

  /** It has asked for a session: now, or as it was told to in `inMs`, it makes an attempt. */
  comes(robotKey: number, inMs: number, nowMs: number): void {
    if (!this.#keptUntilMs.has(robotKey)) return;
    this.#keptUntilMs.set(robotKey, nowMs + ATTEMPT_MS + (inMs > 0 ? inMs + spreadMs(inMs) : 0));
  }

  /** Those that count as offline from now on; to be asked once a second. */
  lost(nowMs: number): number[] {
    const sinceMs = nowMs - this.#startedMs;
    const isOver = sinceMs >= this.#graceMs && (!this.#someCame || sinceMs >= START_GRACE_MAX_MS);
    this.#someCame = false;
    if (!isOver) return [];
    const lost = [...this.#keptUntilMs].flatMap(([key, untilMs]) => (untilMs <= nowMs ? [key] : []));
    for (const key of lost) this.#keptUntilMs.delete(key);
    return lost;
  }
}
