import type { Command, CommandOutcome, RobotCommand } from '@drover/shared/api/commands';
import { ApiError } from '@drover/shared/api/errors';
import type { ShownCommandRow } from './store.js';

/** A page of commands holds at most this many bytes of payload. */
const PAGE_BYTES_MAX = 16 * 1024 * 1024;

/** A page in its documented form. @throws ApiError payload_too_large, naming `limit` */
export function shownPage<T>(rows: ShownCommandRow[], shown: (row: ShownCommandRow) => T): T[] {
  const byteCount = rows.reduce((sum, row) => sum + row.payload.length, 0);
  if (byteCount > PAGE_BYTES_MAX) {
    throw new ApiError('payload_too_large', 'this page is over 16 MiB; ask for fewer commands with a smaller limit');
  }
  return rows.map(shown);
}

/** As a robot's own list has it: without the robot. */
export function shownRobotCommand(row: ShownCommandRow): RobotCommand {
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

export function shownCommand(row: ShownCommandRow): Command {
  const { uuid, ...rest } = shownRobotCommand(row);
  return { uuid, robot_id: row.robot_id, ...rest };
}

export function shownOutcome(row: ShownCommandRow): CommandOutcome {
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
