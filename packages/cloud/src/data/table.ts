import type { Lane } from '@drover/shared/link/fields';
import type { Generated } from 'kysely';

export interface DataTables {
  sources: {
    key: Generated<number>;
    robot_key: number;
    name: string;
    first_stamp_ms: number | null;
    last_stamp_ms: number | null;
    point_count: Generated<number>;
  };
  schemas: {
    key: Generated<number>;
    /** SHA-256 of text, hex. */
    hash: string;
    type: string;
    text: string;
  };
  channels: {
    key: Generated<number>;
    source_key: number;
    schema_key: number;
    /** '' = several, or none known. */
    publisher: string;
  };
  points: {
    id: Generated<number>;
    source_key: number;
    channel_key: number;
    stamp_ms: number;
    received_ms: number;
    /** The robot's own stamp; null = stamp_ms. */
    robot_stamp_ms: number | null;
    cdr: Buffer;
  };
  missing_rows: {
    robot_key: number;
    spool_id: string;
    lane: Lane;
    /** Sequences, both included. */
    first_seq: number;
    last_seq: number;
    found_at_ms: number;
  };
  spools: {
    robot_key: number;
    spool_id: string;
    lane: Lane;
    acked_seq: number;
  };
}
