/**
 * Keeps what robots send for so long (by the cloud's clock when it came) and up to so many bytes, by removing what came first in
 * small steps, with pauses in which ingest, commands and requests get the one writing connection.
 *
 * A step is one transaction of at most STEP_ROWS_MAX rows, fewer where the disk is slow (it aims at STEP_MS), and the pause after
 * it is at least as long, so that retention never has the connection for more than half of the time. Counters change
 * in the same transaction: a kill at any moment leaves a store that the next run goes on with. A run that fails (a full disk)
 * is tried again at its next time.
 */
import type { Logger } from 'pino';
import type { Config } from '../config.js';
import type { Store } from '../db/store.js';
import { type Aged, type Bound, RetentionSteps, STEP_ROWS_MAX, type Step, type StoreSize } from './steps.js';

const PERIOD_MS = 60_000;
/** How long a step should hold the connection. */
const STEP_MS = 10;
const STEP_ROWS_MIN = 16;
const PAUSE_MS_MIN = 5;
/** An idempotency key gives a command's uuid for a day: that long the command must be there, however short data is kept. */
const COMMANDS_KEPT_MS_MIN = 24 * 3600 * 1000;

/** What is kept; null = without a bound. */
export interface RetentionBounds {
  readonly ageMs: number | null;
  readonly bytes: number | null;
}

/** The bounds that the settings ask for. */
export function boundsOf(config: Pick<Config, 'retentionDays' | 'retentionGb'>): RetentionBounds {
  const { retentionDays, retentionGb } = config;
  return {
    ageMs: retentionDays === null ? null : retentionDays * 24 * 3600 * 1000,
    bytes: retentionGb === null ? null : retentionGb * 1e9,
  };
}

/** Why something went. */
export type RemovalReason = 'age' | 'size';
export type Removed = Record<Aged | 'commands', Record<RemovalReason, number>>;

/** What a run came to. */
export interface RetentionRun {
  readonly removed: Removed;
  /** After it. */
  readonly size: StoreSize;
  /** The cloud's clock at its end. */
  readonly endedMs: number;
  readonly tookMs: number;
  readonly steps: number;
}

export interface RetentionOptions {
  readonly store: Store;
  readonly bounds: RetentionBounds;
  readonly log: Logger;
  /** The cloud's clock. */
  readonly now: () => number;
  /** Milliseconds. */
  readonly monotonicNow: () => number;
  readonly onRun?: (run: RetentionRun) => void;
  /** Between the end of a run and the next one. */
  readonly periodMs?: number;
}

export class Retention {
  readonly #options: RetentionOptions;
  readonly #log: Logger;
  readonly #stop = new AbortController();
  #steps: RetentionSteps | undefined;
  #stepRows = STEP_ROWS_MAX;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#log = options.log.child({ part: 'retention' });
  }

  /** Goes on with what an earlier run has left, and then from time to time. */
  async start(): Promise<void> {
    this.#loop = this.#runs();
  }

  /** Ends after the step that is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  /** Removes all that is past the bounds now. @throws SqliteError where the store can't take it; the steps before it stand */
  async run(): Promise<RetentionRun> {
    const { now, monotonicNow, bounds } = this.#options;
    const startedMs = monotonicNow();
    const removed: Removed = {
      points: { age: 0, size: 0 },
      vitals: { age: 0, size: 0 },
      commands: { age: 0, size: 0 },
    };
    let steps = 0;
    const take = async (of: keyof Removed, reason: RemovalReason, step: (steps: RetentionSteps) => Step) => {
      const { rows, more } = await this.#step(step);
      removed[of][reason] += rows;
      steps += 1;
      return more && !this.#stop.signal.aborted;
    };
    if (bounds.ageMs !== null) {
      const untilMs = now() - bounds.ageMs;
      for (const of of ['points', 'vitals'] as const) {
        while (await take(of, 'age', (on) => on.removeOldest(of, this.#bound(untilMs))));
      }
      await this.#removeCommands(now() - Math.max(bounds.ageMs, COMMANDS_KEPT_MS_MIN), take);
    }
    let size = await this.#size();
    while (bounds.bytes !== null && size.live > bounds.bytes) {
      const of = await this.#olderOf();
      if (!of || !(await take(of, 'size', (on) => on.removeOldest(of, this.#bound(Number.POSITIVE_INFINITY))))) break;
      size = await this.#size();
    }
    const run = { removed, size, steps, endedMs: now(), tookMs: monotonicNow() - startedMs };
    this.#tell(run);
    return run;
  }

  async #removeCommands(
    untilMs: number,
    take: (of: 'commands', reason: 'age', step: (steps: RetentionSteps) => Step) => Promise<boolean>,
  ): Promise<void> {
    let lastKey = 0;
    const step = (on: RetentionSteps) => {
      const taken = on.removeEndedCommands(lastKey, this.#bound(untilMs));
      lastKey = taken.lastKey;
      return taken;
    };
    while (await take('commands', 'age', step));
  }

  #bound(untilMs: number): Bound {
    return { untilMs, nowMs: this.#options.now(), rowsMax: this.#stepRows };
  }

  /** Whichever of points and vitals has what came first. */
  #olderOf(): Promise<Aged | undefined> {
    return this.#onSteps((steps) => {
      const point = steps.oldestMs('points');
      const vital = steps.oldestMs('vitals');
      if (point === undefined) return vital === undefined ? undefined : 'vitals';
      return vital === undefined || point <= vital ? 'points' : 'vitals';
    });
  }

  #size(): Promise<StoreSize> {
    return this.#onSteps((steps) => steps.size());
  }

  /** One step and its pause. */
  async #step(step: (steps: RetentionSteps) => Step): Promise<Step> {
    const { monotonicNow } = this.#options;
    const { result, tookMs } = await this.#onSteps((steps) => {
      const fromMs = monotonicNow();
      return { result: step(steps), tookMs: monotonicNow() - fromMs };
    });
    if (tookMs > 2 * STEP_MS) this.#stepRows = Math.max(STEP_ROWS_MIN, Math.floor(this.#stepRows / 2));
    else if (tookMs < STEP_MS / 2) this.#stepRows = Math.min(STEP_ROWS_MAX, this.#stepRows + STEP_ROWS_MIN);
    if (result.more) await this.#pause(Math.max(PAUSE_MS_MIN, tookMs));
    return result;
  }

  #onSteps<T>(use: (steps: RetentionSteps) => T): Promise<T> {
    return this.#options.store.exclusive((raw) => {
      this.#steps ??= new RetentionSteps(raw);
      return use(this.#steps);
    });
  }

  async #runs(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.run();
      } catch (error) {
        this.#log.error({ err: error }, 'retention failed; it is tried again later');
      }
      await this.#pause(this.#options.periodMs ?? PERIOD_MS);
    }
  }

  #pause(ms: number): Promise<void> {
    const { signal } = this.#stop;
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const timer = setTimeout(done, ms).unref();
      signal.addEventListener('abort', done, { once: true });
      function done() {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      }
    });
  }

  #tell(run: RetentionRun): void {
    const { removed, size, steps, tookMs } = run;
    const { bounds, onRun } = this.#options;
    onRun?.(run);
    const rows = { points: sum(removed.points), vitals: sum(removed.vitals), commands: sum(removed.commands) };
    const fields = { removed: rows, live_bytes: size.live, steps, took_ms: Math.round(tookMs) };
    if (bounds.bytes !== null && size.live > bounds.bytes && !this.#stop.signal.aborted) {
      const what = 'the store is over its bound, and no points or vitals are left to remove';
      this.#log.warn({ ...fields, bound_bytes: bounds.bytes }, what);
    } else if (rows.points + rows.vitals + rows.commands > 0) {
      this.#log.info(fields, 'removed what is past its time or over the bound');
    }
  }
}

function sum(counts: Record<RemovalReason, number>): number {
  return counts.age + counts.size;
}
