import type { Generated } from 'kysely';

export interface TenantTables {
  tenants: {
    key: Generated<number>;
    uuid: string;
    name: string;
    created_at_ms: number;
  };
}
