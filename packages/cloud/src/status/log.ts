/**
 * The cloud's log. A store that takes no writes fails everything that writes, again and again: that is one condition, so of
 * each message about it one line comes at once and then one a minute, with why and how often, and without a stack.
 */
import { type DestinationStream, type Logger, pino } from 'pino';
import { storeTrouble } from '../db/errors.js';

const REPEAT_MS = 60_000;

/** Kinds of lines remembered: a handful exist. One more, and the oldest may be said again early. */
const KINDS_MAX = 100;

/** Of lines that nobody takes: those that come after are dropped. */
const KEPT_BYTES_MAX = 1024 * 1024;
/** pino's number for it. */
const WARN = 40;

interface Said {
  atMs: number;
  unsaid: number;
}

export interface LogOptions {
  readonly level: string;
  readonly monotonicNow: () => number;
  readonly destination?: DestinationStream;
}

export function createLog({ level, monotonicNow, destination }: LogOptions): Logger {
  const said = new Map<string, Said>();

  /** How many were left out since the last that was said; null: this one is left out as well. */
  function unsaidBefore(kind: string): number | null {
    const nowMs = monotonicNow();
    const last = said.get(kind);
    if (last && nowMs - last.atMs < REPEAT_MS) {
      last.unsaid += 1;
      return null;
    }
    said.delete(kind);
    said.set(kind, { atMs: nowMs, unsaid: 0 });
    const [oldest] = said.keys();
    if (said.size > KINDS_MAX && oldest !== undefined) said.delete(oldest);
    return last?.unsaid ?? 0;
  }

  const hooks: pino.LoggerOptions['hooks'] = {
    logMethod(args, method) {
      const [fields, message]: unknown[] = args;
      const error = hasError(fields) ? fields.err : undefined;
      const trouble = storeTrouble(error);
      if (trouble === null || !hasError(fields)) {
        method.apply(this, args);
        return;
      }
      const unsaid = unsaidBefore(`${trouble.code} ${message}`);
      if (unsaid === null) return;
      const { err: _, ...others } = fields;
      const told = { ...others, why: trouble.why, code: trouble.code, ...(unsaid > 0 && { unsaid_before: unsaid }) };
      method.apply(this, [told, String(message)]);
    },
  };
  return pino({ level, hooks }, destination ?? gatheredLines());
}

/**
 * The lines of one turn of the event loop are written at its end, together: a system call for each costs a request more than its
 * queries do. A line at warn and above goes out at once, with those before it, and so does all at the process's end. Written
 * synchronously, so that nothing is lost or out of order at an exit.
 *
 * That nobody reads any more, or that a log's disk is full, is no reason to end or to wait: what can't be written waits for the
 * next line, up to KEPT_BYTES_MAX.
 */
export function gatheredLines(target: string | number = process.stdout.fd): DestinationStream {
  const out = pino.destination({ dest: target, sync: true, maxLength: KEPT_BYTES_MAX });
  out.on('error', () => {});
  let gathered = '';
  const flush = () => {
    if (gathered === '') return;
    const lines = gathered;
    gathered = '';
    out.write(lines);
  };
  process.once('exit', flush);
  const stream = {
    // Asks pino for the level of each line.
    [pino.symbols.needsMetadataGsym]: true as const,
    lastLevel: 0,
    write(line: string) {
      if (gathered === '') setImmediate(flush);
      gathered += line;
      if (stream.lastLevel >= WARN) flush();
    },
  };
  return stream;
}

function hasError(fields: unknown): fields is { err: unknown } {
  return typeof fields === 'object' && fields !== null && 'err' in fields;
}
