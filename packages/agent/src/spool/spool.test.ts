import { closeSync, openSync, readdirSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Batch } from '@drover/shared/link/batch';
import { splitBatch } from '@drover/shared/link/batch-reader';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openStoreFile, setAside } from '../disk/store-file.js';
import { framesOf, freshUuid, numbersOf, point, silent, tempDataDir } from './fixture.js';
import { openSpool } from './open.js';
import { SPOOL_MIGRATIONS } from './schema.js';
import { COMMIT_INTERVAL_MS, Spool } from './spool.js';
import { SpoolStore } from './store.js';
import { Uploader } from './uploader.js';
import { BUFFER_BYTES_MAX } from './waiting-samples.js';

const NOTHING = { live: 0, backfill: 0 };

function open(dataDir: string, overrides: { bytesMax?: number; monotonicNow?: () => number } = {}) {
  const monotonicNow = overrides.monotonicNow ?? (() => performance.now());
  const common = { newId: freshUuid, now: Date.now, monotonicNow, log: silent };
  const spool = openSpool({ ...common, dataDir, bytesMax: 1e9, ...overrides });
  const uploader = new Uploader({ spool, clockOffset: () => null, log: silent });
  onTestFinished(() => {
    uploader.close();
    spool.close();
  });
  return { spool, uploader };
}

/** A cloud that keeps batches and, unless told not to, acknowledges them. */
function cloud(spool: Spool, uploader: () => Uploader, acknowledges = true) {
  const batches: Batch[] = [];
  let wake = () => {};
  return {
    batches,
    send(batch: Batch) {
      batches.push(batch);
      wake();
      if (!acknowledges) return;
      const { lane, first_seq, rows, spool_id } = batch;
      queueMicrotask(() => uploader().acknowledged({ spool_id, lane, seq: first_seq + rows.length - 1 }));
    },
    async until(condition: (numbers: (number | null)[]) => boolean) {
      while (!condition(batches.flatMap(numbersOf))) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return batches.flatMap(numbersOf);
    },
    spool,
  };
}

describe('uploading', () => {
  it('brings what is appended to the cloud, in order, and removes it once acknowledged', async () => {
    const { spool, uploader } = open(tempDataDir());
    const receiver = cloud(spool, () => uploader);
    uploader.open(receiver, NOTHING);
    for (let n = 1; n <= 5; n += 1) spool.append(point(n));
    expect(await receiver.until((numbers) => numbers.length === 5)).toEqual([1, 2, 3, 4, 5]);
    while (spool.store.held().rows > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(receiver.batches[0]).toMatchObject({ lane: 'live', first_seq: 1, spool_id: spool.id, clock: null });
  });

  it('sends points in the one form that the cloud reads the short way, fresh ones and those read back from disk', async () => {
    const { spool, uploader } = open(tempDataDir());
    // As robots stamp, to the fraction of a millisecond or not.
    const stamped = (n: number) => point(n, { robotStampMs: 1_800_000_000_000 + n });
    for (const n of [1, 2.5, 3]) spool.append(stamped(n));
    while (spool.store.held().rows < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    const receiver = cloud(spool, () => uploader);
    uploader.open(receiver, NOTHING);
    await receiver.until((numbers) => numbers.length === 3);
    for (const n of [4, 5, 6.5]) spool.append(stamped(n));
    await receiver.until((numbers) => numbers.length === 6);
    const frames = receiver.batches.flatMap(framesOf);
    expect(frames.map((frame) => splitBatch(frame)?.rows.length)).toEqual([2, 2]);
  });

  it('sends again, unchanged, what was not acknowledged, and leaves out what the cloud says it has', async () => {
    const dir = tempDataDir();
    const first = open(dir);
    const deaf = cloud(first.spool, () => first.uploader, false);
    first.uploader.open(deaf, NOTHING);
    first.spool.append(point(1));
    await deaf.until((numbers) => numbers.length === 1);
    first.spool.append(point(2));
    await deaf.until((numbers) => numbers.length === 2);
    first.uploader.close();
    first.spool.close();
    const second = open(dir);
    const receiver = cloud(second.spool, () => second.uploader);
    second.uploader.open(receiver, { live: 1, backfill: 0 });
    await receiver.until((numbers) => numbers.length === 1);
    // The schema comes along again: the cloud may not have had the batch that brought it.
    const lost = deaf.batches.slice(1).map((batch) => ({ ...batch, schemas: deaf.batches[0]?.schemas ?? [] }));
    expect(receiver.batches.map(framesOf)).toEqual(lost.map(framesOf));
  });

  it('gives what waited through an outage to the backfill lane, and what was fresh at the reconnect to live', async () => {
    let now = 0;
    const { spool, uploader } = open(tempDataDir(), { monotonicNow: () => now });
    const committed = async (rows: number) => {
      while (spool.store.held().rows < rows) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    spool.append(point(1));
    await committed(1);
    now += 5_000;
    // A session that comes and goes.
    uploader.open(
      cloud(spool, () => uploader, false),
      NOTHING,
    );
    uploader.close();
    now += 15_000;
    spool.append(point(2));
    now += 1_000;
    await committed(2);
    const receiver = cloud(spool, () => uploader);
    uploader.open(receiver, NOTHING);
    await receiver.until((numbers) => numbers.length === 2);
    expect(receiver.batches.map((batch) => [batch.lane, numbersOf(batch)])).toEqual([
      ['live', [2]],
      ['backfill', [1]],
    ]);
  });

  it('keeps to its window while nothing is acknowledged, and sends a schema once a session', async () => {
    const { spool, uploader } = open(tempDataDir());
    const deaf = cloud(spool, () => uploader, false);
    uploader.open(deaf, NOTHING);
    for (let n = 1; n <= 40; n += 1) spool.append(point(n, { bytes: 200_000 }));
    await deaf.until((numbers) => numbers.length >= 4);
    await new Promise((resolve) => setTimeout(resolve, 3 * COMMIT_INTERVAL_MS));
    expect(deaf.batches).toHaveLength(4);
    expect(deaf.batches.map((batch) => batch.schemas.length)).toEqual([1, 0, 0, 0]);
    const { batches } = deaf;
    uploader.acknowledged({ spool_id: spool.id, lane: 'live', seq: batches[0]?.first_seq ?? 0 });
    await deaf.until(() => batches.length === 5);
  });

  it('sends a schema along in each lane, since live batches overtake the backfill that may hold it', async () => {
    let now = 0;
    const { spool, uploader } = open(tempDataDir(), { monotonicNow: () => now });
    spool.append(point(1));
    while (spool.store.held().rows < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    now += 5_000;
    const deaf = cloud(spool, () => uploader, false);
    uploader.open(deaf, NOTHING);
    uploader.close();
    now += 15_000;
    uploader.open(deaf, NOTHING);
    await deaf.until((numbers) => numbers.length === 1);
    spool.append(point(2));
    now += 1_000;
    await deaf.until((numbers) => numbers.length === 2);
    expect(deaf.batches.map((batch) => [batch.lane, batch.schemas.length])).toEqual([
      ['backfill', 1],
      ['live', 1],
    ]);
  });

  it('ignores an acknowledgement for another spool', async () => {
    const { spool, uploader } = open(tempDataDir());
    const deaf = cloud(spool, () => uploader, false);
    uploader.open(deaf, NOTHING);
    spool.append(point(1));
    await deaf.until((numbers) => numbers.length === 1);
    uploader.acknowledged({ spool_id: freshUuid(), lane: 'live', seq: 1 });
    spool.append(point(2));
    await deaf.until((numbers) => numbers.length === 2);
    expect(spool.store.held().rows).toBe(2);
  });
});

describe('identity', () => {
  it("sets another robot's data aside and says hello anew", () => {
    const dir = tempDataDir();
    const { spool } = open(dir);
    expect(spool.claim({ id: 'robot-1', uid: null }, NOTHING)).toBe('ours');
    const id = spool.id;
    spool.append(point(1));
    expect(spool.claim({ id: 'robot-2', uid: null }, NOTHING)).toBe('changed');
    expect(spool.id).not.toBe(id);
    expect(spool.claim({ id: 'robot-2', uid: null }, NOTHING)).toBe('ours');
    expect(readdirSync(dir).some((name) => name.startsWith('spool.db.other-robot-'))).toBe(true);
  });

  it('takes a new id where the cloud holds more than this copy ever gave out', () => {
    const { spool } = open(tempDataDir());
    const id = spool.id;
    expect(spool.claim({ id: 'robot-1', uid: null }, { live: 7, backfill: 0 })).toBe('changed');
    expect(spool.id).not.toBe(id);
  });

  it('sets a file aside that is broken where the spool first looks', () => {
    const dir = tempDataDir();
    const before = open(dir).spool;
    for (let n = 1; n <= 500; n += 1) before.append(point(n, { bytes: 500 }));
    before.close();
    const size = statSync(join(dir, 'spool.db')).size;
    const handle = openSync(join(dir, 'spool.db'), 'r+');
    writeSync(handle, Buffer.alloc(size - 8192, 0xa5), 0, size - 8192, 8192);
    closeSync(handle);
    const { spool } = open(dir);
    expect(spool.id).not.toBe(before.id);
    expect(readdirSync(dir).some((name) => name.startsWith('spool.db.corrupt-'))).toBe(true);
  });

  it('sets a corrupt file aside and begins a new one', () => {
    const dir = tempDataDir();
    writeFileSync(join(dir, 'spool.db'), 'this is no database, whatever its name says'.repeat(200));
    const { spool } = open(dir);
    expect(spool.store.held().rows).toBe(0);
    expect(readdirSync(dir).some((name) => name.startsWith('spool.db.corrupt-'))).toBe(true);
  });
});

describe('a disk that refuses', () => {
  it('(full, as SQLite says it) keeps the agent going, and everything arrives once there is room', async () => {
    const dataDir = tempDataDir();
    const file = {
      path: join(dataDir, 'spool.db'),
      migrations: SPOOL_MIGRATIONS,
      newId: freshUuid,
      now: Date.now,
      log: silent,
    };
    const opened = openStoreFile(file, (one) => one);
    const errors: unknown[] = [];
    const store = new SpoolStore(opened);
    const commit = store.commit.bind(store);
    store.commit = (work) => {
      try {
        return commit(work);
      } catch (error) {
        errors.push(error);
        // Room again, but only after it was refused.
        opened.db.pragma('max_page_count = 1073741823');
        throw error;
      }
    };
    const pages = Number(opened.db.pragma('page_count', { simple: true }));
    opened.db.pragma(`max_page_count = ${pages + 2}`);
    const monotonicNow = () => performance.now();
    const common = { newId: freshUuid, now: Date.now, monotonicNow, log: silent };
    const spool = new Spool({ ...common, open: () => store, setAside: () => {}, bytesMax: 1e9 });
    const uploader = new Uploader({ spool, clockOffset: () => null, log: silent });
    onTestFinished(() => {
      uploader.close();
      spool.close();
    });
    const receiver = cloud(spool, () => uploader);
    uploader.open(receiver, NOTHING);
    for (let n = 1; n <= 20; n += 1) spool.append(point(n, { bytes: 5_000 }));
    expect(await receiver.until((numbers) => numbers.length === 20)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
    expect(errors).toMatchObject([{ code: 'SQLITE_FULL' }]);
  });

  it('whose file turns out corrupt while it is used: set aside, a new one begun, the session opened anew', async () => {
    const dataDir = tempDataDir();
    const before = open(dataDir).spool;
    for (let n = 1; n <= 500; n += 1) before.append(point(n, { bytes: 500 }));
    before.close();
    // The leaves of `rows` are the last pages of the file; what is read at the start stays whole.
    const size = statSync(join(dataDir, 'spool.db')).size;
    const handle = openSync(join(dataDir, 'spool.db'), 'r+');
    writeSync(handle, Buffer.alloc(size / 2, 0xa5), 0, size / 2, size / 4);
    closeSync(handle);
    const { spool, uploader } = open(dataDir);
    const changed = new Promise<void>((resolve) => spool.onIdentityChange(resolve));
    const { id } = spool;
    uploader.open(
      cloud(spool, () => uploader),
      NOTHING,
    );
    spool.append(point(501));
    await changed;
    expect(spool.id).not.toBe(id);
    expect(readdirSync(dataDir).some((name) => name.startsWith('spool.db.corrupt-'))).toBe(true);
    uploader.close();
    const receiver = cloud(spool, () => uploader);
    uploader.open(receiver, NOTHING);
    expect(await receiver.until((numbers) => numbers.length === 1)).toEqual([501]);
  });

  it('keeps samples in memory, and they arrive once it takes writes again', async () => {
    const { spool, uploader } = open(tempDataDir());
    const receiver = cloud(spool, () => uploader);
    uploader.open(receiver, NOTHING);
    const { store } = spool;
    const commit = store.commit.bind(store);
    let refused = 0;
    store.commit = () => {
      refused += 1;
      if (refused === 2) store.commit = commit;
      throw new RangeError('no space');
    };
    spool.append(point(1));
    expect(await receiver.until((numbers) => numbers.length === 1)).toEqual([1]);
    expect(refused).toBe(2);
  });

  it('drops the oldest past the bound in memory, counted', () => {
    const dir = tempDataDir();
    const { spool } = open(dir);
    const drop = Math.ceil((30 * 2 ** 20 - BUFFER_BYTES_MAX) / 2 ** 20) + 1;
    const commit = spool.store.commit.bind(spool.store);
    spool.store.commit = () => {
      throw new RangeError('no space');
    };
    for (let n = 1; n <= 30; n += 1) spool.append(point(n, { bytes: 2 ** 20 }));
    spool.store.commit = commit;
    spool.close();
    const again = open(dir).spool;
    expect(again.store.drops()).toMatchObject([{ source: '/counter', reason: 'disk_refused', rows: drop }]);
    expect(again.store.held().rows).toBe(30 - drop);
  });

  it('is asked again once a second only, whatever is dropped meanwhile', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { spool } = open(tempDataDir());
    const { store } = spool;
    const commit = store.commit.bind(store);
    let refused = 0;
    store.commit = () => {
      refused += 1;
      throw new RangeError('no space');
    };
    spool.append(point(1));
    vi.advanceTimersByTime(COMMIT_INTERVAL_MS);
    spool.countDrop('/scan', 'too_large', 1, 1);
    vi.advanceTimersByTime(3 * COMMIT_INTERVAL_MS);
    expect(refused).toBe(1);
    store.commit = commit;
    vi.advanceTimersByTime(1_000);
    expect(store.held().rows).toBe(1);
  });

  it('just when a corrupt file is to be replaced gets the new one once it takes writes', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const common = { newId: freshUuid, now: Date.now, monotonicNow: () => performance.now(), log: silent };
    const file = { ...common, path: join(tempDataDir(), 'spool.db'), migrations: SPOOL_MIGRATIONS };
    let opened = 0;
    const open = () => {
      opened += 1;
      if (opened === 2) throw new RangeError('no space');
      return openStoreFile(file, (one) => new SpoolStore(one));
    };
    const setAsideNow = (why: string, detail: string) => setAside(file, why, detail);
    const spool = new Spool({ ...common, open, setAside: setAsideNow, bytesMax: 1e9 });
    onTestFinished(() => spool.close());
    let renewals = 0;
    spool.onIdentityChange(() => {
      renewals += 1;
    });
    const { store } = spool;
    const commit = store.commit.bind(store);
    store.commit = () => {
      store.commit = commit;
      throw new Database.SqliteError('malformed', 'SQLITE_CORRUPT');
    };
    spool.append(point(1));
    vi.advanceTimersByTime(COMMIT_INTERVAL_MS);
    expect([opened, renewals]).toEqual([2, 0]);
    vi.advanceTimersByTime(1_000);
    expect([opened, renewals]).toEqual([3, 1]);
    expect(spool.store.held().rows).toBe(1);
  });

  it('never takes a sample whose numbers are none', () => {
    const { spool } = open(tempDataDir());
    spool.append(point(1, { robotStampMs: Number.NaN }));
    spool.append(point(2));
    const { store } = spool;
    const seen: number[] = [];
    const commit = store.commit.bind(store);
    store.commit = (work) => {
      seen.push(work.samples.length);
      return commit(work);
    };
    spool.close();
    expect(seen).toEqual([1]);
  });
});
