import { createHash, randomUUID } from 'node:crypto';
import type { Batch } from '@drover/shared/link/batch';
import type { Database, Statement } from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';
import { Ingest } from './ingest.js';

const TEXT = 'int64 data\n';
const SCHEMA = { hash: createHash('sha256').update(TEXT).digest('hex'), type: 'std_msgs/msg/Int64', text: TEXT };
const SPOOL = randomUUID();

function batchOf(points: number, sources: number, firstSeq = 1): Batch {
  return {
    kind: 'batch',
    spool_id: SPOOL,
    lane: 'live',
    first_seq: firstSeq,
    clock: null,
    schemas: [SCHEMA],
    channels: Array.from({ length: sources }, (_, at) => {
      return { source: `/counter_${at}`, type: SCHEMA.type, schema_hash: SCHEMA.hash, publisher: '/counter' };
    }),
    rows: Array.from({ length: points }, (_, at) => {
      return { kind: 'point', channel: at % sources, robot_stamp_ms: 1e12 + at, cdr: new Uint8Array(12) };
    }),
  };
}

/** The handle, with each statement's run noted by the beginning of its text. */
function counting(raw: Database, ran: string[]): Database {
  const counted = (statement: Statement): Statement =>
    new Proxy(statement, {
      get: (of, name) => {
        const value = Reflect.get(of, name);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) => {
          if (name === 'pluck') return counted(Reflect.apply(value, of, given));
          ran.push(of.source.slice(0, of.source.indexOf(' ', 16)));
          return Reflect.apply(value, of, given);
        };
      },
    });
  return new Proxy(raw, {
    get: (of, name) => {
      if (name === 'prepare') return (sql: string) => counted(of.prepare(sql));
      return Reflect.get(of, name);
    },
  });
}

describe('what a batch asks of the store', () => {
  let cloud: TestCloud;
  beforeEach(async () => {
    cloud = await startTestCloud();
  });
  afterEach(() => cloud.stop());

  /** Of the second such batch: its sources and channels are known. */
  async function statements(points: number, sources: number): Promise<{ inserts: number; others: number }> {
    const robot = (await cloud.robot('rover-1')).ref;
    const ran: string[] = [];
    await cloud.store.exclusive((raw) => {
      const ingest = new Ingest(counting(raw, ran));
      ingest.store(robot, batchOf(points, sources), 1e12, false);
      ran.length = 0;
      ingest.store(robot, batchOf(points, sources, points + 1), 1e12, false);
    });
    expect(await cloud.store.db.selectFrom('points').select('id').execute()).toHaveLength(2 * points);
    const inserts = ran.filter((sql) => sql.startsWith('INSERT OR FAIL')).length;
    return { inserts, others: ran.length - inserts };
  }

  it('is 20 inserts for 1000 points, and what its sources take once', async () => {
    // The mark read and moved, the definition; of a source its definition, itself, its channel and its count.
    expect(await statements(1000, 10)).toEqual({ inserts: 20, others: 3 + 4 * 10 });
  });

  it('is a statement for each 64 points, then for each 8, then for each', async () => {
    expect(await statements(64 + 8 + 3, 1)).toEqual({ inserts: 1 + 1 + 3, others: 3 + 4 });
  });

  it('is 8 statements for a point alone', async () => {
    expect(await statements(1, 1)).toEqual({ inserts: 1, others: 3 + 4 });
  });
});
