import type { CommandTables } from '../commands/table.js';
import type { ComposeTables } from '../compose/table.js';
import type { DataTables } from '../data/table.js';
import type { IdempotencyTables } from '../http/idempotency-table.js';
import type { KeyTables } from '../keys/table.js';
import type { LinkTables } from '../links/table.js';
import type { RobotTables } from '../robots/table.js';
import type { StreamTables } from '../streams/table.js';
import type { TenantTables } from '../tenants/table.js';
import type { VitalTables } from '../vitals/table.js';

/** Every table, as Kysely sees it; each noun describes its own. */
export interface Schema
  extends TenantTables,
    KeyTables,
    RobotTables,
    LinkTables,
    StreamTables,
    CommandTables,
    ComposeTables,
    DataTables,
    VitalTables,
    IdempotencyTables {}
