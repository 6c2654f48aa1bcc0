import type { ClockOffset } from '@drover/shared/link/clock';
import type { AgeMoment } from './age-ledger.js';
import { type Boot, type ClockReading, systemBoot } from './clocks.js';

export interface RobotClocks {
  /** The robot's wall clock. */
  readonly now: () => number;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
  /** The machine's by default. */
  readonly boot?: Boot | undefined;
}

/** The robot's clocks as the spool's file counts by them: by the time since the boot, which a restart of the agent does not set back. */
export class RobotTime {
  readonly #clocks: RobotClocks;
  readonly #bootId: string;
  /** Time since the boot minus monotonic clock. */
  readonly #aheadMs: number;

  constructor(clocks: RobotClocks) {
    const boot = clocks.boot ?? systemBoot();
    this.#clocks = clocks;
    this.#bootId = boot.id;
    this.#aheadMs = boot.sinceMs() - clocks.monotonicNow();
  }

  /** @param clockMs wall clock minus monotonic clock; that of now by default. */
  clock(clockMs = this.#clocks.now() - this.#clocks.monotonicNow()): ClockReading {
    return { bootId: this.#bootId, baseMs: clockMs - this.#aheadMs };
  }

  /** This moment, where the cloud's clock is measured to be so far from the robot's (null: it is not). */
  moment(measured: ClockOffset | null): Pick<AgeMoment, 'now' | 'cloudMs'> {
    const { now, monotonicNow } = this.#clocks;
    return {
      now: { bootId: this.#bootId, sinceMs: monotonicNow() + this.#aheadMs },
      cloudMs: measured && now() + measured.offset_ms,
    };
  }
}
