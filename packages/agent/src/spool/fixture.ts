import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Batch } from '@drover/shared/link/batch';
import { FrameWriter } from '@drover/shared/link/codec';
import type { Command, CommandOutcome } from '@drover/shared/link/command';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { PointSample } from './rows.js';

export const silent = pino({ level: 'silent' });

/** A data directory that goes when the test is over. */
export function tempDataDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'drover-agent-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A point whose payload is a number, on a topic of its own type. */
export function point(n: number, overrides: Partial<PointSample> & { bytes?: number } = {}): PointSample {
  const { bytes = 12, ...rest } = overrides;
  const cdr = new Uint8Array(bytes);
  new DataView(cdr.buffer).setFloat64(4, n);
  return {
    kind: 'point',
    source: '/counter',
    type: 'std_msgs/msg/Int64',
    schema: { hash: 'a'.repeat(64), text: 'int64 data' },
    publisher: '/robot',
    robotStampMs: n,
    cdr,
    ...rest,
  };
}

/** The numbers of the points of a batch, `null` where a row is none. */
export function numbersOf(batch: Pick<Batch, 'rows'>): (number | null)[] {
  return batch.rows.map((row) =>
    row.kind === 'point' ? new DataView(row.cdr.buffer, row.cdr.byteOffset).getFloat64(4) : null,
  );
}

let uuids = 0;
export function freshUuid(): string {
  uuids += 1;
  return `018f0000-0000-7000-8000-${uuids.toString(16).padStart(12, '0')}`;
}

export function topicCommand(overrides: Partial<Command> = {}): Command {
  return {
    kind: 'command',
    uuid: freshUuid(),
    interface: 'topic',
    name: '/cmd_vel',
    type: 'geometry_msgs/msg/Twist',
    payload: { linear: { x: 0.2 } },
    deadline_cloud_ms: Date.now() + 60_000,
    life_ms: 60_000,
    timeout_ms: 10_000,
    latched: false,
    ...overrides,
  };
}

export function executed(uuid: string, overrides: Partial<CommandOutcome> = {}): CommandOutcome {
  return {
    kind: 'command_outcome',
    uuid,
    state: 'executed',
    error_code: null,
    message: null,
    result: { matched_subscribers: 1 },
    feedback: null,
    finished_robot_ms: 1_000,
    ...overrides,
  };
}

/** A batch as it travels, on a session of its own. */
export function framesOf(batch: Batch): Uint8Array[] {
  return new FrameWriter().frames(batch);
}
