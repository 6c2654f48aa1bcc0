import type { Generated } from 'kysely';

export interface VitalTables {
  vitals: {
    id: Generated<number>;
    robot_key: number;
    stamp_ms: number;
    received_ms: number;
    /** The robot's own stamp; null = stamp_ms. */
    robot_stamp_ms: number | null;
    cpu: number;
    ram: number;
    disk: number;
    battery: number;
  };
  latest_vitals: {
    robot_key: number;
    stamp_ms: number;
    cpu: number;
    ram: number;
    disk: number;
    battery: number;
  };
}
