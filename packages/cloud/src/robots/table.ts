import type { LogLevel } from '@drover/shared/link/desired';
import type { Generated } from 'kysely';

/** Booleans are 0 and 1. */
export interface RobotTables {
  robots: {
    key: Generated<number>;
    tenant_key: number;
    id: string;
    name: string;
    /** SHA-256 of the token, hex. */
    token_hash: string;
    token_hint: string;
    provisioned: Generated<number>;
    agent_version: Generated<string>;
    online: Generated<number>;
    online_updated_at_ms: number;
    created_at_ms: number;
    deleted_at_ms: number | null;
    desired_revision: Generated<number>;
    vitals_enabled: Generated<number>;
    logs_enabled: Generated<number>;
    logs_min_level: Generated<LogLevel>;
  };
}
