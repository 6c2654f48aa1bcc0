import type { Batch } from '@drover/shared/link/batch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freshUuid, numbersOf, point, silent, tempDataDir } from './fixture.js';
import { openSpool } from './open.js';
import { Uploader } from './uploader.js';

const NOTHING = { live: 0, backfill: 0 };
const COUNTER_10_S = new Map([['/counter', 10_000]]);

/** A spool whose clocks stand until they are told, and a cloud that takes batches and acknowledges none. */
function open(dataDir: string) {
  const clock = { monotonicMs: 0, wallMs: 1_000_000 };
  const monotonicNow = () => clock.monotonicMs;
  const files = { dataDir, newId: freshUuid, now: () => clock.wallMs, monotonicNow, log: silent };
  const spool = openSpool({ ...files, bytesMax: 1e9 });
  const uploader = new Uploader({ spool, clockOffset: () => null, log: silent });
  const sent: Batch[] = [];
  let wake = () => {};
  onTestFinished(() => {
    uploader.close();
    spool.close();
  });
  const until = async (condition: () => boolean) => {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return {
    spool,
    clock,
    pass: (ms: number) => {
      clock.monotonicMs += ms;
      clock.wallMs += ms;
    },
    /** Appends points of these numbers, stamped now, and waits for them to be on disk. */
    collect: async (numbers: number[], source = '/counter') => {
      const { nextId } = spool.store;
      for (const n of numbers) spool.append(point(n, { source, robotStampMs: clock.wallMs }));
      await expect.poll(() => spool.store.nextId).toBe(nextId + numbers.length);
    },
    connect: () =>
      uploader.open(
        {
          send: (batch) => {
            sent.push(batch);
            wake();
          },
        },
        NOTHING,
      ),
    disconnect: () => uploader.close(),
    /** All that was sent, sorted, once it is so many. */
    sent: async (count: number) => {
      await until(() => sent.flatMap(numbersOf).length >= count);
      return sent.flatMap(numbersOf).sort();
    },
  };
}

describe('a stream that states how old its data may be', () => {
  it('has what waited longer dropped and counted, not sent; other streams keep theirs', async () => {
    const { spool, pass, collect, connect, sent } = open(tempDataDir());
    spool.setMaxAges(COUNTER_10_S);
    await collect([1, 2]);
    await collect([3], '/other');
    pass(11_000);
    await collect([4]);
    connect();
    expect(await sent(2)).toEqual([3, 4]);
    expect(spool.drops()).toEqual([{ source: '/counter', reason: 'too_old', rows: 2, bytes: 2 * (48 + 12) }]);
    expect(spool.store.held().rows).toBe(2);
  });

  it('has none of it sent, however much it is', async () => {
    const { spool, pass, collect, connect, sent } = open(tempDataDir());
    await collect(Array.from({ length: 45_000 }, () => 1));
    pass(11_000);
    await collect([2]);
    spool.setMaxAges(COUNTER_10_S);
    connect();
    await expect.poll(() => spool.drops()).toMatchObject([{ reason: 'too_old', rows: 45_000 }]);
    expect(await sent(1)).toEqual([2]);
  });

  it('loses nothing that is younger, nor what was sent before', async () => {
    const { spool, pass, collect, connect, disconnect, sent } = open(tempDataDir());
    spool.setMaxAges(COUNTER_10_S);
    await collect([1]);
    connect();
    await sent(1);
    disconnect();
    pass(9_000);
    await collect([2]);
    pass(9_000);
    await collect([3]);
    expect(spool.store.held().rows).toBe(3);
    expect(spool.drops()).toEqual([]);
    connect();
    // The first again, since the cloud has not acknowledged it.
    expect(await sent(4)).toEqual([1, 1, 2, 3]);
  });

  it('loses nothing to a wall clock that is set', async () => {
    const { spool, clock, collect, connect, sent } = open(tempDataDir());
    spool.setMaxAges(COUNTER_10_S);
    await collect([1]);
    clock.wallMs += 3_600_000;
    await collect([2]);
    connect();
    expect(await sent(2)).toEqual([1, 2]);
  });

  it('has what is older by the robot’s clock dropped after a restart', async () => {
    const dataDir = tempDataDir();
    const before = open(dataDir);
    await before.collect([1]);
    before.pass(8_000);
    await before.collect([2]);
    before.spool.close();
    const { spool, clock, pass, collect, connect, sent } = open(dataDir);
    clock.wallMs = before.clock.wallMs;
    spool.setMaxAges(COUNTER_10_S);
    pass(5_000);
    await collect([3]);
    expect(spool.store.held().rows).toBe(2);
    connect();
    expect(await sent(2)).toEqual([2, 3]);
    expect(spool.drops()).toMatchObject([{ reason: 'too_old', rows: 1 }]);
  });

  it('has it all dropped, however much it is', async () => {
    const { spool, pass, collect } = open(tempDataDir());
    await collect(Array.from({ length: 25_000 }, (_, n) => n));
    pass(60_000);
    spool.setMaxAges(COUNTER_10_S);
    await collect([1], '/other');
    await collect([2], '/other');
    expect(spool.store.held().rows).toBe(2);
    expect(spool.drops()).toMatchObject([{ source: '/counter', reason: 'too_old', rows: 25_000 }]);
  });
});
