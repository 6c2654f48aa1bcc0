import { randomUUID } from 'node:crypto';
import { openSpool } from '@drover/agent/dist/spool/open.js';
import type { PointSample } from '@drover/agent/dist/spool/rows.js';
import { encodeCdr } from '@drover/shared/ros/cdr';
import { parseSchema } from '@drover/shared/ros/definitions';

/** A message that waits in a spool: a type of one field, `data`. */
export interface Waiting {
  readonly source: string;
  readonly type: 'std_msgs/msg/Int64' | 'std_msgs/msg/String';
  readonly data: bigint | string;
  readonly stampMs: number;
}

const SCHEMAS = {
  'std_msgs/msg/Int64': parseSchema('std_msgs/msg/Int64', 'int64 data'),
  'std_msgs/msg/String': parseSchema('std_msgs/msg/String', 'string data'),
} as const;

const ROWS_A_COMMIT = 5_000;

/** Puts messages into the spool of an agent that does not run, through the spool's own code: what an outage would have left. */
export function prefillSpool(dataDir: string, messages: Iterable<Waiting>): number {
  const silent = { child: () => silent, info() {}, warn() {}, error() {}, debug() {} } as never;
  const bytesMax = 1024 ** 3;
  const times = { now: Date.now, monotonicNow: () => performance.now() };
  const spool = openSpool({ dataDir, newId: randomUUID, ...times, log: silent, bytesMax });
  let rows = 0;
  let samples: PointSample[] = [];
  const commit = () => {
    spool.store.commit({ acked: {}, samples, drops: [], liveFromId: 0, mayForm: () => false, bytesMax });
    samples = [];
  };
  for (const { source, type, data, stampMs } of messages) {
    const schema = SCHEMAS[type];
    const cdr = encodeCdr(schema, { data });
    const { hash, text } = schema;
    samples.push({
      ...{ kind: 'point', source, type, schema: { hash, text }, publisher: '/robot', robotStampMs: stampMs, cdr },
    });
    rows += 1;
    if (samples.length === ROWS_A_COMMIT) commit();
  }
  commit();
  spool.close();
  return rows;
}
