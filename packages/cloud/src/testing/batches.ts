/** For tests: batches as an agent would send them. */
import { randomUUID } from 'node:crypto';
import type { Batch } from '@drover/shared/link/batch';
import { encodeCdr } from '@drover/shared/ros/cdr';
import { commonDefinitions } from '@drover/shared/ros/common';
import { loadInterface, type MessageSchema } from '@drover/shared/ros/definitions';
import { fromJson } from '@drover/shared/ros/from-json';
import type { DataWriter } from '../data/writer.js';
import type { RobotRef } from '../robots/robots.js';

export interface TestPoint {
  readonly source: string;
  readonly type: string;
  readonly payload: Record<string, unknown>;
  readonly stampMs: number;
  readonly publisher?: string;
  /** In place of the payload's. */
  readonly cdr?: Uint8Array;
}

const loaded = new Map<string, Promise<MessageSchema>>();

function schemaOf(type: string): Promise<MessageSchema> {
  const known = loaded.get(type);
  if (known) return known;
  const loading = loadInterface(type, commonDefinitions).then((definition) => {
    if (definition.kind !== 'msg') throw new TypeError(`${type} is no message`);
    return definition.message;
  });
  loaded.set(type, loading);
  return loading;
}

/** One spool's worth: the points, in order, in a batch of their own. */
export async function batchOfPoints(points: readonly TestPoint[]): Promise<Batch> {
  const rows: Batch['rows'] = [];
  const channels: Batch['channels'] = [];
  const schemas = new Map<string, Batch['schemas'][number]>();
  for (const point of points) {
    const schema = await schemaOf(point.type);
    schemas.set(schema.hash, { hash: schema.hash, type: schema.type, text: schema.text });
    const cdr = new Uint8Array(point.cdr ?? encodeCdr(schema, fromJson(schema, point.payload, 'payload')));
    rows.push({ kind: 'point', channel: channels.length, robot_stamp_ms: point.stampMs, cdr });
    const { source, type, publisher = null } = point;
    channels.push({ source, type, schema_hash: schema.hash, publisher });
  }
  return {
    kind: 'batch',
    spool_id: randomUUID(),
    lane: 'live',
    first_seq: 1,
    clock: null,
    schemas: [...schemas.values()],
    channels,
    rows,
  };
}

export async function writePoints(
  writer: DataWriter,
  robot: RobotRef,
  points: readonly TestPoint[],
  receivedMs: number,
): Promise<void> {
  await writer.write(robot, await batchOfPoints(points), receivedMs);
}
