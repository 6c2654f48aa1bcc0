import type { Command, CommandOutcome, RobotCommand } from '@drover/shared/api/commands';
import type { Db } from '../db/store.js';
import { PAGE_BYTES_MAX, pageTooLarge } from '../http/page-size.js';
import { type CommandFilter, type ListedCommandRow, listCommands, listedCommands, type OutcomeRow } from './store.js';

/** A page in its documented form, measured before it is read. @throws ApiError payload_too_large, naming `limit` */
export async function shownPage<T>(db: Db, filter: CommandFilter, shown: (row: ListedCommandRow) => T): Promise<T[]> {
  const heads = await listCommands(db, filter).execute();
  if (heads.reduce((sum, head) => sum + head.bytes, 0) > PAGE_BYTES_MAX) throw pageTooLarge();
  if (heads.length === 0) return [];
  const keys = heads.map((head) => head.key);
  return (await listedCommands(db, keys).execute()).map(shown);
}

/** As a robot's own list has it: without the robot. */
export function shownRobotCommand(row: ListedCommandRow): RobotCommand {
  return {
    uuid: row.uuid,
    state: row.state,
    error_code: row.error_code as RobotCommand['error_code'],
    interface: row.interface,
    name: row.name,
    type: row.type,
    payload: JSON.parse(row.payload),
    created_at: iso(row.created_at_ms),
  };
}

export function shownCommand(row: ListedCommandRow): Command {
  const { uuid, ...rest } = shownRobotCommand(row);
  return { uuid, robot_id: row.robot_id, ...rest };
}

export function shownOutcome(row: OutcomeRow): CommandOutcome {
  return {
    uuid: row.uuid,
    state: row.state,
    error_code: row.error_code as CommandOutcome['error_code'],
    error_message: row.message,
    result: row.result === null ? null : JSON.parse(row.result),
    feedback: row.feedback === null ? null : JSON.parse(row.feedback),
    created_at: iso(row.created_at_ms),
    sent_at: row.sent_at_ms === null ? null : iso(row.sent_at_ms),
    finished_at: row.finished_at_ms === null ? null : iso(row.finished_at_ms),
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
