import { initial } from './0001_initial.js';
import { commands } from './0002_commands.js';
import { streamStatus } from './0003_stream_status.js';
import { robotLinks } from './0004_robot_links.js';
import { inboxLineage } from './0005_inbox_lineage.js';
import { missingRows } from './0006_missing_rows.js';
import { spoolStorage } from './0007_spool_storage.js';
import { composeStatus } from './0008_compose_status.js';

export interface Migration {
  readonly version: number;
  readonly name: string;
  /** Statements, run in one transaction with the row that says so. */
  readonly sql: string;
}

/** Append only: a migration that was ever released never changes. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'initial', sql: initial },
  { version: 2, name: 'commands', sql: commands },
  { version: 3, name: 'stream status', sql: streamStatus },
  { version: 4, name: 'robot links', sql: robotLinks },
  { version: 5, name: 'inbox lineage', sql: inboxLineage },
  { version: 6, name: 'missing rows', sql: missingRows },
  { version: 7, name: 'spool storage', sql: spoolStorage },
  { version: 8, name: 'compose status', sql: composeStatus },
];
