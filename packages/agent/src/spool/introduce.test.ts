import { expect, it, onTestFinished } from 'vitest';
import { freshUuid, point, silent, tempDataDir } from './fixture.js';
import { openSpool } from './open.js';
import type { BatchRecord } from './rows.js';

it('says what it holds: what is acknowledged, but not removed yet, too, and keeps that until the cloud says it again', async () => {
  const monotonicNow = () => performance.now();
  const common = { newId: freshUuid, now: Date.now, monotonicNow, log: silent };
  const spool = openSpool({ ...common, dataDir: tempDataDir(), bytesMax: 1e9 });
  onTestFinished(() => spool.close());
  const said = () => spool.introduce().first_seq;
  expect(said()).toEqual({ live: 1, backfill: 1 });

  const formed: BatchRecord[] = [];
  spool.setOutlet({
    liveFromId: () => 0,
    mayForm: () => true,
    formed: (batches) => void formed.push(...batches),
  });
  const send = async (n: number) => {
    spool.append(point(n));
    await expect.poll(() => formed.at(-1)?.firstSeq).toBe(n);
  };
  for (const n of [1, 2, 3]) await send(n);
  expect(said()).toEqual({ live: 1, backfill: 1 });
  spool.acknowledge('live', 2);
  expect(said()).toEqual({ live: 1, backfill: 1 });
  // The acknowledgement is forgotten: this commit removes nothing.
  await send(4);
  expect(spool.store.held().rows).toBe(4);

  spool.acknowledge('live', 2);
  await expect.poll(() => spool.store.held().rows).toBe(2);
  expect(said()).toEqual({ live: 3, backfill: 1 });
  spool.acknowledge('live', 4);
  await expect.poll(() => spool.store.held().rows).toBe(0);
  expect(said()).toEqual({ live: 5, backfill: 1 });
});
