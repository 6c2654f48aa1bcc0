import type { ListVitalsQuery, Vital } from '@drover/shared/api/vitals';
import { pointUuid } from '../data/point-uuid.js';
import type { Store } from '../db/store.js';
import type { DesiredState } from '../desired/desired.js';
import type { RobotRef } from '../robots/robots.js';
import { vitalsOfRobot } from './store.js';

export class Vitals {
  readonly #store: Store;
  readonly #desired: DesiredState;

  constructor(options: { store: Store; desired: DesiredState }) {
    this.#store = options.store;
    this.#desired = options.desired;
  }

  /** A page of samples, newest first. */
  async list(robot: RobotRef, query: ListVitalsQuery): Promise<Vital[]> {
    const page = query.latest_only ? { offset: 0, limit: 1 } : query;
    const rows = await vitalsOfRobot(this.#store.db, robot.key, page).execute();
    return rows.map((row) => ({
      uuid: pointUuid('vital', robot.tenantUuid, row.stamp_ms, row.id),
      created_at: new Date(row.stamp_ms).toISOString(),
      battery: row.battery,
      cpu: row.cpu,
      ram: row.ram,
      disk: row.disk,
    }));
  }

  async configure(robot: RobotRef, enabled: boolean): Promise<void> {
    await this.#desired.change(robot.key, (tx) =>
      tx
        .updateTable('robots')
        .set({ vitals_enabled: enabled ? 1 : 0 })
        .where('key', '=', robot.key)
        .execute(),
    );
  }
}
