/** A point as a log record (design: the record's own fields, or the message as text). */
import type { LogRecord } from '@drover/shared/api/data';
import type { LogLevel } from '@drover/shared/link/desired';
import type { Decoded } from './decoder.js';

export const LOG_TYPE = 'rcl_interfaces/msg/Log';
/** UTF-8 bytes of a message's JSON text that a record shows. */
export const MSG_BYTES_MAX = 64 * 1024;

export interface PointContext {
  readonly uuid: string;
  readonly stamp: string;
  readonly source: string;
  readonly type: string;
  /** '' = several, or none known. */
  readonly publisher: string;
}

export function logRecordOf(point: PointContext, decoded: Decoded): LogRecord {
  const { uuid, stamp } = point;
  const base = {
    uuid,
    stamp,
    level: 'info',
    name: point.publisher || point.source,
    file: '',
    function: '',
    line: 0,
  } as const;
  if ('undecodable' in decoded) {
    return { ...base, msg: `(this ${point.type} could not be decoded: ${decoded.undecodable})` };
  }
  if (point.type === LOG_TYPE && isObject(decoded.value)) {
    const { level, name, msg, file, function: where, line } = decoded.value;
    return {
      uuid,
      stamp,
      level: levelOf(Number(level)),
      name: String(name),
      file: String(file),
      function: String(where),
      line: Number(line),
      msg: String(msg),
    };
  }
  return { ...base, msg: cut(JSON.stringify(decoded.value)) };
}

/** rcl_interfaces/msg/Log's own numbers; one between two, as rcutils allows, counts as the lower. */
function levelOf(level: number): LogLevel {
  if (level >= 50) return 'fatal';
  if (level >= 40) return 'error';
  if (level >= 30) return 'warn';
  if (level >= 20) return 'info';
  return 'debug';
}

/** At most MSG_BYTES_MAX bytes of UTF-8, no character split. */
function cut(text: string): string {
  // No character takes less than a byte.
  if (text.length * 3 <= MSG_BYTES_MAX) return text;
  const bytes = Buffer.from(text.slice(0, MSG_BYTES_MAX));
  if (bytes.byteLength <= MSG_BYTES_MAX) return text.length <= MSG_BYTES_MAX ? text : bytes.toString();
  // `stream`: what begins at the end and isn't whole is held back.
  return new TextDecoder().decode(bytes.subarray(0, MSG_BYTES_MAX), { stream: true });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
