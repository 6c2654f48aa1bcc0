import type { Generated } from 'kysely';

export interface KeyTables {
  api_keys: {
    key: Generated<number>;
    uuid: string;
    tenant_key: number;
    name: string;
    hint: string;
    /** SHA-256 of the secret, hex. */
    secret_hash: string;
    /** JSON array of scopes. */
    scopes: string;
    created_at_ms: number;
    revoked_at_ms: number | null;
  };
}
