import { expect, it, onTestFinished } from 'vitest';
import { freshUuid, silent, tempDataDir } from './fixture.js';
import { openSpool } from './open.js';

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
