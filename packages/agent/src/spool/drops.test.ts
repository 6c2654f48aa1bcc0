import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openStoreFile } from '../disk/store-file.js';
import { freshUuid, point, silent, tempDataDir } from './fixture.js';
import { openSpool } from './open.js';
import { SPOOL_MIGRATIONS } from './schema.js';
import { DISK_RESERVE_BYTES, Spool } from './spool.js';
import { SpoolStore } from './store.js';

function open(dataDir: string) {
  const monotonicNow = () => performance.now();
  const spool = openSpool({ dataDir, bytesMax: 1e9, newId: freshUuid, now: Date.now, monotonicNow, log: silent });
  onTestFinished(() => spool.close());
  return spool;
}

it('a spool tells every drop, those that are not on disk yet as well, and those of before a restart', () => {
  const dataDir = tempDataDir();
  const spool = open(dataDir);
  spool.countDrop('/scan', 'too_large', 1, 100);
  spool.countDrop('/scan', 'too_large', 1, 50);
  expect(spool.drops()).toEqual([{ source: '/scan', reason: 'too_large', rows: 2, bytes: 150 }]);
  spool.close();
  const again = open(dataDir);
  again.countDrop('/scan', 'too_large', 1, 1);
  again.countDrop('/odom', 'disk_refused', 1, 1);
  expect(again.drops()).toEqual([
    { source: '/scan', reason: 'too_large', rows: 3, bytes: 151 },
    { source: '/odom', reason: 'disk_refused', rows: 1, bytes: 1 },
  ]);
});

it('a spool leaves the last of a disk free: new samples then take the place of the oldest', async () => {
  const common = { newId: freshUuid, now: Date.now, monotonicNow: () => performance.now(), log: silent };
  const file = { ...common, path: join(tempDataDir(), 'spool.db'), migrations: SPOOL_MIGRATIONS };
  let diskFreeBytes = DISK_RESERVE_BYTES + 8e6;
  const spool = new Spool({
    ...common,
    open: () => openStoreFile(file, (opened) => new SpoolStore(opened)),
    setAside: () => {},
    bytesMax: 1e9,
    diskFreeBytes: () => diskFreeBytes,
  });
  onTestFinished(() => spool.close());
  const append = async (rows: number) => {
    const nextId = spool.store.nextId + rows;
    for (let n = 0; n < rows; n += 1) spool.append(point(n, { bytes: 100_000 }));
    await expect.poll(() => spool.store.nextId).toBe(nextId);
    return spool.store.held().rows;
  };
  expect(await append(50)).toBe(50);
  // Somebody else has filled the disk meanwhile: the spool grows no more, and gives nothing up either.
  diskFreeBytes = 0;
  expect(await append(30)).toBe(50);
  expect(spool.drops()).toMatchObject([{ source: '/counter', reason: 'spool_full', rows: 30 }]);
  diskFreeBytes = 1e9;
  expect(await append(30)).toBe(80);
});

/** How many samples a spool kept whose disk refuses. */
function keptInMemory(memoryBytesMax: number, appended: number): number {
  const common = { newId: freshUuid, now: Date.now, monotonicNow: () => performance.now(), log: silent };
  const spool = openSpool({ ...common, dataDir: tempDataDir(), bytesMax: 1e9, memoryBytesMax });
  spool.store.commit = () => {
    throw new RangeError('no space');
  };
  for (let n = 1; n <= appended; n += 1) spool.append(point(n));
  const dropped = spool.drops()[0]?.rows ?? 0;
  spool.close();
  return appended - dropped;
}

it('a spool bounds what small samples take in memory by what they do take, not by a number of them', () => {
  expect(keptInMemory(1e6, 60_000)).toBeLessThan(3_000);
  expect(keptInMemory(100e6, 60_000)).toBe(60_000);
});

it('a spool drops nothing of a burst that is more than memory may hold, where its disk takes it', () => {
  const spool = open(tempDataDir());
  for (let n = 1; n <= 5; n += 1) spool.append(point(n, { bytes: 5_000_000 }));
  expect(spool.drops()).toEqual([]);
  expect(spool.store.held().rows).toBeGreaterThan(0);
});
