import type { ClockOffset } from '@drover/shared/link/clock';

/** Samples kept; the one with the smallest uncertainty counts. */
const SAMPLES_MAX = 8;
/** How far two quartz clocks may drift apart, as part of the uncertainty of an aging sample. */
const DRIFT_PER_MS = 100e-6;

/**
 * Stamps are corrected by an offset that moves by at most so much of the time passed, and so much at once, towards the best
 * measurement: each message's stamp would else jump with every better one, and messages a few milliseconds apart change places.
 */
const SLEW_PART_MAX = 0.05;
const SLEW_MS_MAX = 5;
/** Above this the clocks were set, and it is taken at once. */
const SLEW_FROM_MS_MAX = 1_000;

/** One exchange with the cloud, times in milliseconds. */
export interface ClockExchange {
  /** By the robot's monotonic clock. */
  readonly sentMs: number;
  readonly receivedMs: number;
  /** By the cloud's clock. */
  readonly cloudReceivedMs: number;
  readonly cloudSentMs: number;
}

interface ClockSample {
  readonly atMs: number;
  /** Cloud's clock minus the robot's monotonic clock. */
  readonly offsetMs: number;
  readonly uncertaintyMs: number;
}

/**
 * What time it is at the cloud. Measured as NTP does (RFC 5905 section 8), against the robot's monotonic clock: a wall
 * clock that jumps on the robot changes neither deadlines nor their check.
 */
export class CloudClock {
  readonly #monotonicNow: () => number;
  readonly #wallNow: () => number;
  #samples: ClockSample[] = [];
  /** Cloud's clock minus the robot's monotonic clock, as stamps are corrected by. */
  #slewed: { readonly atMs: number; readonly offsetMs: number } | null = null;

  constructor(monotonicNow: () => number, wallNow: () => number) {
    this.#monotonicNow = monotonicNow;
    this.#wallNow = wallNow;
  }

  /** Adds an exchange. One that makes no sense (an answer before its question) is left out. */
  add(exchange: ClockExchange): void {
    const roundTrip = exchange.receivedMs - exchange.sentMs - (exchange.cloudSentMs - exchange.cloudReceivedMs);
    if (!(roundTrip >= 0)) return;
    const offsetMs = (exchange.cloudReceivedMs - exchange.sentMs + (exchange.cloudSentMs - exchange.receivedMs)) / 2;
    this.#samples.push({ atMs: exchange.receivedMs, offsetMs, uncertaintyMs: roundTrip / 2 });
    if (this.#samples.length > SAMPLES_MAX) this.#samples.shift();
    this.#forgetContradicted();
  }

  /** The cloud's time now, and by how much it may be off either way; null before the first exchange. */
  cloudNow(): { ms: number; uncertaintyMs: number } | null {
    const now = this.#monotonicNow();
    const best = this.#best(now);
    return best && { ms: now + best.offsetMs, uncertaintyMs: best.uncertaintyMs };
  }

  /** Robot's wall clock + offset = cloud's clock, for the correction of stamps: follows the best measurement slowly. */
  offset(): ClockOffset | null {
    const now = this.#monotonicNow();
    const best = this.#best(now);
    if (!best) return null;
    const offsetMs = this.#slew(best.offsetMs, now);
    return {
      offset_ms: now + offsetMs - this.#wallNow(),
      uncertainty_ms: best.uncertaintyMs + Math.abs(best.offsetMs - offsetMs),
    };
  }

  #slew(wantedMs: number, now: number): number {
    const { atMs, offsetMs } = this.#slewed ?? { atMs: now, offsetMs: wantedMs };
    const missingMs = wantedMs - offsetMs;
    const mostMs = Math.min(SLEW_MS_MAX, (now - atMs) * SLEW_PART_MAX);
    const isSet = Math.abs(missingMs) > SLEW_FROM_MS_MAX;
    const nextMs = isSet ? wantedMs : offsetMs + Math.max(-mostMs, Math.min(mostMs, missingMs));
    this.#slewed = { atMs: now, offsetMs: nextMs };
    return nextMs;
  }

  #best(now: number): ClockSample | null {
    let best: ClockSample | null = null;
    for (const sample of this.#samples) {
      const uncertaintyMs = sample.uncertaintyMs + Math.max(0, now - sample.atMs) * DRIFT_PER_MS;
      if (!best || uncertaintyMs < best.uncertaintyMs) best = { ...sample, uncertaintyMs };
    }
    return best;
  }

  /** A cloud whose clock was set: samples from before can't be true beside the newest one. */
  #forgetContradicted(): void {
    const newest = this.#samples.at(-1);
    if (!newest) return;
    this.#samples = this.#samples.filter((sample) => {
      const drift = (newest.atMs - sample.atMs) * DRIFT_PER_MS;
      return Math.abs(newest.offsetMs - sample.offsetMs) <= newest.uncertaintyMs + sample.uncertaintyMs + drift + 1;
    });
  }
}
