import { copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { BATCH_ROWS_MAX } from '@drover/shared/link/batch';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openStoreFile } from '../disk/store-file.js';
import { freshUuid, numbersOf, point, silent, tempDataDir } from './fixture.js';
import { SourceLedger } from './ledger.js';
import type { Sample } from './rows.js';
import { SPOOL_MIGRATIONS } from './schema.js';

import { BATCH_BYTES_MAX, SpoolStore, type SpoolWork } from './store.js';

const fileOptions = (dir: string) => ({
  path: join(dir, 'spool.db'),
  migrations: SPOOL_MIGRATIONS,
  newId: freshUuid,
  now: Date.now,
  log: silent,
});

function open(dir: string): SpoolStore {
  return openStoreFile(fileOptions(dir), (file) => new SpoolStore(file));
}

/** Work of a spool that has no session, unless said otherwise. */
function work(overrides: Partial<SpoolWork> = {}): SpoolWork {
  const none = { acked: {}, samples: [], drops: [], liveFromId: 0, mayForm: () => false, bytesMax: 1e9 };
  return { ...none, ...overrides };
}

const online = { mayForm: () => true };
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const points = (from: number, to: number) => range(from, to).map((n) => point(n));

describe('batches', () => {
  it('carry rows in order with sequences that go on from batch to batch', () => {
    const store = open(tempDataDir());
    const [first] = store.commit(work({ samples: points(1, 3), ...online }));
    const [second] = store.commit(work({ samples: points(4, 5), ...online }));
    expect([first?.firstSeq, second?.firstSeq]).toEqual([1, 4]);
    expect([first, second].map((batch) => batch && numbersOf(store.read(batch)))).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    expect(store.lastSeq).toEqual({ live: 5, backfill: 0 });
  });

  it('keep channels, schemas and vitals as they were given', () => {
    const store = open(tempDataDir());
    const vital: Sample = { kind: 'vital', robotStampMs: 7, cpu: 1, ram: 2, disk: 3, battery: -1 };
    const samples = [point(1), vital, point(2, { publisher: null }), point(3)];
    const [batch] = store.commit(work({ samples, ...online }));
    const content = batch && store.read(batch);
    const channel = { source: '/counter', type: 'std_msgs/msg/Int64', schema_hash: 'a'.repeat(64) };
    expect(content?.channels).toEqual([
      { ...channel, publisher: '/robot' },
      { ...channel, publisher: null },
    ]);
    expect(content?.schemas).toEqual([{ hash: 'a'.repeat(64), type: 'std_msgs/msg/Int64', text: 'int64 data' }]);
    expect(content?.rows).toMatchObject([
      { kind: 'point', channel: 0, robot_stamp_ms: 1 },
      { kind: 'vital', robot_stamp_ms: 7, cpu: 1, ram: 2, disk: 3, battery: -1 },
      { kind: 'point', channel: 1, robot_stamp_ms: 2 },
      { kind: 'point', channel: 0, robot_stamp_ms: 3 },
    ]);
  });

  it('hold at most BATCH_ROWS_MAX rows and 256 KiB; a bigger message travels alone', () => {
    const store = open(tempDataDir());
    const many = store.commit(work({ samples: points(1, 2 * BATCH_ROWS_MAX + 1), ...online }));
    expect(many.map((batch) => batch.rowCount)).toEqual([BATCH_ROWS_MAX, BATCH_ROWS_MAX, 1]);
    const samples = [1, 2, 3, 4].map((n) => point(n, { bytes: n === 3 ? 2 * BATCH_BYTES_MAX : 100_000 }));
    const big = store.commit(work({ samples, ...online }));
    expect(big.map((batch) => numbersOf(store.read(batch)))).toEqual([[1, 2], [3], [4]]);
  });

  it('keep lane, sequence and content across a restart until they are acknowledged', () => {
    const dir = tempDataDir();
    const store = open(dir);
    store.commit(work({ samples: points(1, 3), ...online }));
    store.commit(work({ samples: points(4, 5), ...online }));
    const before = store.unacked.map((batch) => ({ ...batch, numbers: numbersOf(store.read(batch)) }));
    store.close();
    const again = open(dir);
    expect(again.id).toBe(store.id);
    expect(again.unacked.map((batch) => ({ ...batch, numbers: numbersOf(again.read(batch)) }))).toEqual(before);
    again.commit(work({ acked: { live: 3 } }));
    expect(again.unacked.map((batch) => batch.firstSeq)).toEqual([4]);
    again.commit(work({ acked: { live: 5 } }));
    expect(again.held()).toEqual({ rows: 0, bytes: 0 });
    expect(again.lastSeq).toEqual({ live: 5, backfill: 0 });
  });

  it('say "gone" for every row where one of them is missing, and never give its sequence to another', () => {
    const dir = tempDataDir();
    const store = open(dir);
    const [batch] = store.commit(work({ samples: points(1, 3), ...online }));
    const file = openStoreFile(fileOptions(dir), (opened) => opened);
    file.db.exec('DELETE FROM rows WHERE id = 2');
    store.forget();
    expect(batch && store.read(batch).rows).toEqual([{ kind: 'gone' }, { kind: 'gone' }, { kind: 'gone' }]);
  });
});

describe('lanes', () => {
  it('give what waited to backfill and what is new to live, each with sequences of its own', () => {
    const store = open(tempDataDir());
    store.commit(work({ samples: points(1, 4) }));
    const liveFromId = store.nextId;
    const formed = store.commit(work({ samples: points(5, 6), liveFromId, ...online }));
    const told = formed.map((batch) => [batch.lane, batch.firstSeq, numbersOf(store.read(batch))]);
    expect(told).toEqual([
      ['live', 1, [5, 6]],
      ['backfill', 1, [1, 2, 3, 4]],
    ]);
  });

  it('deliver every row exactly once, in order within a lane, over any history of sessions, acks and restarts', () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('append' as const), rows: fc.integer({ min: 1, max: 30 }) }),
      fc.record({ do: fc.constant('form' as const), batches: fc.integer({ min: 0, max: 3 }) }),
      fc.record({ do: fc.constant('ack' as const), lane: fc.constantFrom('live' as const, 'backfill' as const) }),
      fc.record({ do: fc.constant('session' as const) }),
      fc.record({ do: fc.constant('restart' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const dir = tempDataDir();
        let store = open(dir);
        let next = 1;
        let liveFromId = 1;
        const delivered = { live: new Map<number, number>(), backfill: new Map<number, number>() };
        const deliver = () => {
          for (const batch of store.unacked) {
            numbersOf(store.read(batch)).forEach((n, i) => {
              const seq = batch.firstSeq + i;
              const known = delivered[batch.lane].get(seq);
              if (known !== undefined) expect(n).toBe(known);
              delivered[batch.lane].set(seq, n ?? -1);
            });
          }
        };
        for (const each of steps) {
          if (each.do === 'append') {
            store.commit(work({ samples: points(next, next + each.rows - 1) }));
            next += each.rows;
          } else if (each.do === 'form') {
            let left = each.batches;
            store.commit(work({ liveFromId, mayForm: () => left-- > 0 }));
          } else if (each.do === 'ack') {
            const batch = store.unacked.find((one) => one.lane === each.lane);
            if (batch) store.commit(work({ acked: { [each.lane]: batch.firstSeq + batch.rowCount - 1 } }));
          } else if (each.do === 'session') {
            liveFromId = store.nextId;
          } else {
            store.close();
            store = open(dir);
            liveFromId = store.nextId;
          }
          deliver();
        }
        store.commit(work({ liveFromId, mayForm: () => true }));
        deliver();
        store.close();
        for (const lane of [delivered.live, delivered.backfill]) {
          const numbers = [...lane].sort(([a], [b]) => a - b).map(([, n]) => n);
          expect([...lane.keys()].sort((a, b) => a - b)).toEqual(range(1, lane.size));
          expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
        }
        const all = [...delivered.live.values(), ...delivered.backfill.values()].sort((a, b) => a - b);
        expect(all).toEqual(next === 1 ? [] : range(1, next - 1));
      }),
      { numRuns: 60 },
    );
  });
});

describe('the bound', () => {
  it('drops the oldest of the source that holds most, counted in the spool, and keeps the counters true', () => {
    const dir = tempDataDir();
    const store = open(dir);
    const samples = range(1, 50).flatMap((n) => [
      point(n, { source: '/image', bytes: 10_000 }),
      point(n, { source: '/small', bytes: 100 }),
    ]);
    store.commit(work({ samples, bytesMax: 300_000 }));
    expect(store.held().bytes).toBeLessThanOrEqual(300_000);
    const [drop] = store.drops();
    expect(store.drops()).toHaveLength(1);
    expect(drop).toMatchObject({ source: '/image', reason: 'spool_full' });
    const formed = store.commit(work({ ...online }));
    const rows = formed.flatMap((batch) => numbersOf(store.read(batch)));
    expect(rows).toHaveLength(100 - (drop?.rows ?? 0));
    expect(Math.min(...rows.map((n) => n ?? 0))).toBe(1);
    const held = store.held();
    store.close();
    const again = open(dir);
    expect(again.held()).toEqual(held);
    expect(again.drops()).toEqual([drop]);
  });

  it('does not look again at what it dropped, also with a batch in flight', () => {
    const store = open(tempDataDir());
    const [inFlight] = store.commit(work({ samples: points(1, 5), ...online }));
    const hints: number[] = [];
    const hint = vi.spyOn(SourceLedger.prototype, 'oldestHint');
    onTestFinished(() => hint.mockRestore());
    for (let n = 6; n <= 20; n += 1) {
      store.commit(work({ samples: points(n, n), bytesMax: 8 * 60 }));
      hints.push(Number(hint.mock.results.at(-1)?.value ?? 0));
    }
    expect(hints.at(-1)).toBeGreaterThan(15);
    expect(inFlight && numbersOf(store.read(inFlight))).toEqual([1, 2, 3, 4, 5]);
  });

  it('never drops what has a sequence', () => {
    const store = open(tempDataDir());
    store.commit(work({ samples: points(1, 20), ...online }));
    store.commit(work({ samples: points(21, 40), bytesMax: 100 }));
    expect(store.unacked.map((batch) => numbersOf(store.read(batch)))).toEqual([range(1, 20)]);
    expect(store.drops()).toMatchObject([{ rows: 20 }]);
  });
});

describe('the file', () => {
  it.each([
    ['a page each', [2_100]],
    ['a page and a bit', [4_100]],
    ['small and large by turns', [40_000, 16, 16, 16]],
  ])('stays near the bound whatever it is filled with: %s', (_what, sizes) => {
    const dir = tempDataDir();
    const store = open(dir);
    const bytesMax = 4_000_000;
    for (let n = 0; n < 150; n += 1) {
      const samples = Array.from({ length: 60 }, (_, i) => {
        const bytes = sizes[i % sizes.length] ?? 0;
        return point(i, { bytes, source: `/of_${bytes}` });
      });
      store.commit(work({ samples, bytesMax }));
    }
    expect(store.drops().length).toBeGreaterThan(0);
    expect(statSync(join(dir, 'spool.db')).size).toBeLessThan(bytesMax + 1_000_000);
    expect(statSync(join(dir, 'spool.db-wal')).size).toBeLessThan(8_000_000);
    // And it is filled, not half empty.
    expect(store.bytesInUse()).toBeGreaterThan(bytesMax * 0.95);
  });
});

describe('an old copy that came back', () => {
  it('starts a new id, drops what the cloud may hold already, counted, and keeps what came since', () => {
    const dir = tempDataDir();
    const copy = tempDataDir();
    const store = open(dir);
    const dropped = { source: '/counter', reason: 'too_large', rows: 4, bytes: 4_000 } as const;
    store.commit(work({ samples: points(1, 5), drops: [dropped], ...online }));
    store.commit(work({ samples: points(6, 9) }));
    store.close();
    copyFileSync(join(dir, 'spool.db'), join(copy, 'spool.db'));
    const restored = open(copy);
    const oldId = restored.id;
    restored.commit(work({ samples: points(10, 12) }));
    // The cloud has had rows 6 to 9 from the original meanwhile.
    const acked = { live: 9, backfill: 0 };
    expect(restored.isOldCopy(acked)).toBe(true);
    restored.startOver(freshUuid(), acked);
    expect(restored.id).not.toBe(oldId);
    expect(restored.lastSeq).toEqual({ live: 0, backfill: 0 });
    // Those counted before are the cloud's, under the old id: under the new one too they would count twice.
    expect(restored.drops()).toMatchObject([{ reason: 'spool_restored', rows: 4 }]);
    const [batch] = restored.commit(work({ ...online }));
    expect(batch && [batch.firstSeq, numbersOf(restored.read(batch))]).toEqual([1, [10, 11, 12]]);
    restored.close();
    expect(open(copy).id).toBe(restored.id);
  });

  it('that is restarted before it meets the cloud keeps what it collected meanwhile', () => {
    const dir = tempDataDir();
    const copy = tempDataDir();
    const store = open(dir);
    store.commit(work({ samples: points(1, 5) }));
    store.close();
    copyFileSync(join(dir, 'spool.db'), join(copy, 'spool.db'));
    const first = open(copy);
    first.commit(work({ samples: points(6, 8) }));
    first.close();
    const second = open(copy);
    second.startOver(freshUuid(), { live: 5, backfill: 0 });
    expect(second.drops()).toMatchObject([{ reason: 'spool_restored', rows: 5 }]);
    expect(second.commit(work({ ...online })).flatMap((batch) => numbersOf(second.read(batch)))).toEqual([6, 7, 8]);
  });

  it('keeps what had a place that the cloud says is empty: the original can not have delivered it', () => {
    const dir = tempDataDir();
    const store = open(dir);
    store.commit(work({ samples: points(1, 5), ...online, liveFromId: 6 }));
    store.commit(work({ samples: points(6, 9), ...online, liveFromId: 6 }));
    store.commit(work({ samples: points(10, 12) }));
    store.close();
    const restored = open(dir);
    // The live lane went on; the batch in the backfill never arrived.
    restored.startOver(freshUuid(), { live: 6, backfill: 0 });
    expect(restored.drops()).toMatchObject([{ reason: 'spool_restored', rows: 3 }]);
    const formed = restored.commit(work({ ...online }));
    expect(formed.flatMap((batch) => numbersOf(restored.read(batch)))).toEqual([1, 2, 3, 4, 5]);
  });
});

it('a failed commit changes nothing and can be done again', () => {
  const store = open(tempDataDir());
  store.commit(work({ samples: points(1, 2), ...online }));
  const before = { held: store.held(), unacked: store.unacked, lastSeq: store.lastSeq };
  const broken = { ...point(4), robotStampMs: 'never' as unknown as number };
  const attempt = work({ samples: [point(3), broken], acked: { live: 2 }, ...online });
  expect(() => store.commit(attempt)).toThrow();
  expect({ held: store.held(), unacked: store.unacked, lastSeq: store.lastSeq }).toEqual(before);
  const [batch] = store.commit(work({ samples: points(3, 4), ...online }));
  expect(batch && [batch.firstSeq, numbersOf(store.read(batch))]).toEqual([3, [3, 4]]);
});
