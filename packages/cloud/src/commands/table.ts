import type { CommandInterface } from '@drover/shared/link/command';
import type { Generated } from 'kysely';

/** How far a command has come; the transitions are drawn in commands.ts. */
export type CommandState = 'created' | 'sent' | 'executed' | 'error';

export interface CommandTables {
  commands: CommandsTable;
  inboxes: InboxesTable;
}

export interface CommandsTable {
  /** Order of the POSTs. */
  key: Generated<number>;
  uuid: string;
  tenant_key: number;
  robot_key: number;
  interface: CommandInterface;
  name: string;
  type: string;
  /** JSON text. */
  payload: string;
  latched: 0 | 1;
  timeout_ms: number;
  created_at_ms: number;
  /** Past this moment of the cloud's clock it must not start. */
  deadline_ms: number;
  /** Past this moment the cloud ends it as outcome_unknown: deadline + timeout + a margin. */
  give_up_ms: number;
  state: CommandState;
  error_code: string | null;
  /** The error in words, or a remark on a success. */
  message: string | null;
  /** JSON text. */
  result: string | null;
  /** JSON text: an action's last feedback. */
  feedback: string | null;
  /** The inbox it was, or may have been, written to; it is never written to another. Null = certainly to none. */
  inbox_id: string | null;
  sent_at_ms: number | null;
  finished_at_ms: number | null;
  /** Who ended it: an outcome_unknown of the cloud's is the one end that the robot's own word may replace. */
  ended_by: 'cloud' | 'robot' | null;
  cancel_requested: Generated<0 | 1>;
}

/** What the cloud has seen of a robot's inboxes. */
export interface InboxesTable {
  robot_key: number;
  inbox_id: string;
  /** The highest number of a command known to be taken into it. */
  last_seq: number;
  /** The tenure (shared/link/hello.ts) it was last heard in, and its highest version told there; null: never told. */
  tenure: string | null;
  version: Generated<number>;
}
