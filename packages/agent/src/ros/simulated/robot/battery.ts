import type { RosMessage } from '@drover/shared/ros/values';

const FULL = 0.95;
const EMPTY = 0.15;
/** Of the whole, each second. */
const IDLE_DRAIN = 0.0001;
const DRIVE_DRAIN_PER_MPS = 0.0003;
const CHARGE = 0.002;

const DISCHARGING = 2;
const CHARGING = 1;
const HEALTH_GOOD = 1;
const TECHNOLOGY_LION = 2;

/** A battery that drains slowly, and charges from nearly empty to nearly full where the robot stands. */
export class Battery {
  #ratio = FULL;
  #charging = false;

  /** 0..1. */
  get ratio(): number {
    return this.#ratio;
  }
  get charging(): boolean {
    return this.#charging;
  }

  advance(elapsedMs: number, speedMps: number): void {
    const rate = this.#charging ? CHARGE : -(IDLE_DRAIN + DRIVE_DRAIN_PER_MPS * Math.abs(speedMps));
    this.#ratio = Math.min(FULL, Math.max(0, this.#ratio + (rate * elapsedMs) / 1000));
    if (this.#ratio <= EMPTY) this.#charging = true;
    else if (this.#ratio >= FULL) this.#charging = false;
  }

  /** The fields of a sensor_msgs/msg/BatteryState but its header; NaN is what this battery does not measure. */
  state(): RosMessage {
    return {
      voltage: 21 + 4.2 * this.#ratio,
      temperature: Number.NaN,
      current: this.#charging ? 2 : -1.2,
      charge: Number.NaN,
      capacity: Number.NaN,
      design_capacity: 10,
      percentage: this.#ratio,
      power_supply_status: this.#charging ? CHARGING : DISCHARGING,
      power_supply_health: HEALTH_GOOD,
      power_supply_technology: TECHNOLOGY_LION,
      present: true,
      location: 'base',
      serial_number: 'SIM-0001',
    };
  }
}
