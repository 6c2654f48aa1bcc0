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
    created_at_ms: number;
  };
}
