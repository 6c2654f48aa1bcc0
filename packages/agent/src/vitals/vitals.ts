import type { Desired } from '@drover/shared/link/desired';
import { decodeCdr } from '@drover/shared/ros/cdr';
import type { CollectorDeps } from '../streams/collector.js';
import { type Drain, Tap } from '../streams/tap.js';
import type { SystemLoad } from './system-load.js';

export const BATTERY_TYPE = 'sensor_msgs/msg/BatteryState';
/** A battery that has said nothing for this long is not known any more. */
const BATTERY_AGE_MAX_MS = 5 * 60_000;
const BATTERY_DRAIN_HZ = 2;
const BATTERY_DEPTH = 5;
/** Not known. */
const UNKNOWN = -1;

export interface VitalsOptions extends CollectorDeps {
  /** sensor_msgs/msg/BatteryState. */
  readonly batteryTopic: string;
  readonly measure: () => Promise<SystemLoad>;
}

/** Samples the robot's vitals at the desired period into the spool, while enabled. */
export class Vitals {
  readonly #options: VitalsOptions;
  #config: Desired['vitals'] = { enabled: false, period_s: 5 };
  #timer: NodeJS.Timeout | null = null;
  #isMeasuring = false;
  #battery: { readonly percent: number; readonly atMs: number } | null = null;
  #tap: Tap | null = null;
  #stopping: Promise<void> = Promise.resolve();

  constructor(options: VitalsOptions) {
    this.#options = { ...options, log: options.log.child({ part: 'vitals' }) };
  }

  apply(config: Desired['vitals']): void {
    const { enabled, period_s } = config;
    const isSame = enabled === this.#config.enabled && period_s === this.#config.period_s;
    this.#config = config;
    if (isSame) return;
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    if (!enabled) return void this.stop();
    this.#startBattery();
    this.#timer = setInterval(() => void this.#sample(), period_s * 1000).unref();
    void this.#sample();
  }

  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    const tap = this.#tap;
    this.#tap = null;
    this.#battery = null;
    if (tap) this.#stopping = this.#stopping.then(() => tap.stop());
    await this.#stopping;
  }

  async #sample(): Promise<void> {
    const { measure, sink, wallNow, monotonicNow, log } = this.#options;
    // A slow measurement is not overtaken by the next.
    if (this.#isMeasuring) return;
    this.#isMeasuring = true;
    try {
      const load = await measure();
      // It may have been disabled meanwhile.
      if (this.#timer === null) return;
      const { cpu, ram, disk } = load;
      const battery = this.#batteryPercent();
      const robotStampMs = wallNow();
      sink.append({
        kind: 'vital',
        robotStampMs,
        clockMs: robotStampMs - monotonicNow(),
        cpu: percent(cpu),
        ram: percent(ram),
        disk: percent(disk),
        battery,
      });
    } catch (error) {
      log.warn({ err: error }, 'vitals can not be measured');
    } finally {
      this.#isMeasuring = false;
    }
  }

  #batteryPercent(): number {
    const { monotonicNow } = this.#options;
    const isFresh = this.#battery && monotonicNow() - this.#battery.atMs <= BATTERY_AGE_MAX_MS;
    return this.#battery && isFresh ? this.#battery.percent : UNKNOWN;
  }

  #startBattery(): void {
    if (this.#tap) return;
    const tap = new Tap({
      ...this.#options,
      topic: this.#options.batteryTopic,
      type: BATTERY_TYPE,
      drainHz: BATTERY_DRAIN_HZ,
      depth: BATTERY_DEPTH,
      onDrain: (drain) => this.#readBattery(drain),
    });
    this.#tap = tap;
    void this.#stopping.then(() => {
      if (this.#tap === tap) tap.start();
    });
  }

  #readBattery({ messages, schema }: Drain): void {
    const newest = messages.at(-1);
    if (!newest) return;
    const ratio = Number(decodeCdr(schema, newest.cdr).percentage);
    this.#battery = { percent: Number.isNaN(ratio) ? UNKNOWN : percent(ratio * 100), atMs: newest.atMs };
  }
}

/** Within 0..100, to the hundredth; what is no number is not known. */
function percent(value: number): number {
  return Number.isNaN(value) ? UNKNOWN : Math.round(Math.min(100, Math.max(0, value)) * 100) / 100;
}
