import type { SessionEnding } from '@drover/shared/api/link';
import type { StorageState } from '@drover/shared/link/link-status';

export interface LinkTables {
  robot_links: {
    robot_key: number;
    link_version: number;
    sessions: number;
    connected_at_ms: number;
    ended_at_ms: number | null;
    ending: SessionEnding | null;
    clock_offset_ms: number | null;
    clock_uncertainty_ms: number | null;
    clock_measured_at_ms: number | null;
    /** What waits on the robot, as it last told; all null where its agent is too old to. */
    spool_rows: number | null;
    spool_bytes: number | null;
    spool_bytes_max: number | null;
    /** Corrected by the clock's offset. */
    spool_oldest_ms: number | null;
    spool_storage: StorageState | null;
    reported_at_ms: number | null;
  };
  spool_drops: {
    robot_key: number;
    spool_id: string;
    source: string;
    reason: string;
    rows: number;
    bytes: number;
  };
}
