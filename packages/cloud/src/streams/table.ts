import type { StreamState } from '@drover/shared/link/stream-status';
import type { Generated } from 'kysely';

export interface StreamTables {
  streams: {
    key: Generated<number>;
    uuid: string;
    robot_key: number;
    source: string;
    type: string;
    hz: number;
    enabled: number;
    max_message_bytes: number;
    max_age_s: Generated<number | null>;
    created_at_ms: number;
  };
  stream_status: {
    robot_key: number;
    source: string;
    state: StreamState;
    message: string | null;
    publishers: number;
    receiving_since_ms: number | null;
    last_message_ms: number | null;
    rate_hz: number | null;
    /** Not read any more, and never dropped: the counts are in spool_drops since. */
    drops: '[]';
    reported_at_ms: number;
  };
}
