import { join } from 'node:path';
import type { Batch } from '@drover/shared/link/batch';
import { expect, it, onTestFinished } from 'vitest';
import { openStoreFile } from '../disk/store-file.js';
import { type Boot, ClockLedger } from './clocks.js';
import { freshUuid, numbersOf, point, silent, tempDataDir } from './fixture.js';
import { openSpool } from './open.js';
import { SPOOL_MIGRATIONS } from './schema.js';
import { Uploader } from './uploader.js';

const HOUR = 3_600_000;
/** What the cloud's clock shows when the robot booted. */
const CLOUD_BOOT_MS = Date.parse('2026-11-21T12:00:00Z');

/** A robot with a wall clock that can be set, and a cloud whose clock is right. */
class Robot {
  readonly #dataDir = tempDataDir();
  /** Since the boot. */
  nowMs = 0;
  /** Robot's clock minus the cloud's. */
  wrongMs = 0;
  bootId = freshUuid();
  #part = this.#start(0);
  #n = 0;

  /** One sample a second from now on; all on disk when it resolves. */
  async sample(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      this.nowMs += 1_000;
      this.#n += 1;
      const wallMs = CLOUD_BOOT_MS + this.nowMs + this.wrongMs;
      const sample = point(this.#n, { robotStampMs: wallMs });
      this.#part.spool.append({ ...sample, clockMs: wallMs - this.#part.monotonicNow() });
    }
    await expect.poll(() => this.#part.spool.store.nextId).toBe(this.#n + 1);
  }

  /** The agent is started anew; `afterMs` since the boot. */
  restart(afterMs: number): void {
    this.#part.spool.close();
    this.nowMs = afterMs;
    this.#part = this.#start(afterMs);
  }

  /** What a session brings to the cloud: each number with how far its corrected stamp is off, seconds. */
  async upload(): Promise<Map<number | null, number>> {
    const { spool, uploader } = this.#part;
    const off = new Map<number | null, number>();
    const send = (batch: Batch) => {
      batch.rows.forEach((row, at) => {
        const n = numbersOf(batch)[at] ?? null;
        if (row.kind !== 'point') return;
        const stampMs = row.robot_stamp_ms + (batch.clock?.offset_ms ?? 0);
        off.set(n, Math.round((stampMs - (CLOUD_BOOT_MS + (n ?? 0) * 1_000)) / 1000));
      });
      queueMicrotask(() => uploader.acknowledged({ ...batch, seq: batch.first_seq + batch.rows.length - 1 }));
    };
    const waiting = spool.store.held().rows;
    uploader.open({ send }, { live: 0, backfill: 0 });
    await expect.poll(() => off.size).toBe(waiting);
    await expect.poll(() => spool.store.held().rows).toBe(0);
    uploader.close();
    return off;
  }

  #start(startedMs: number) {
    const boot: Boot = { id: this.bootId, sinceMs: () => this.nowMs };
    const monotonicNow = () => this.nowMs - startedMs;
    const now = () => CLOUD_BOOT_MS + this.nowMs + this.wrongMs;
    const common = { newId: freshUuid, now, monotonicNow, log: silent };
    const spool = openSpool({ ...common, dataDir: this.#dataDir, bytesMax: 1e9, boot });
    const clockOffset = () => ({ offset_ms: -this.wrongMs, uncertainty_ms: 1 });
    const uploader = new Uploader({ spool, clockOffset, log: silent });
    onTestFinished(() => {
      uploader.close();
      spool.close();
    });
    return { spool, uploader, monotonicNow };
  }
}

const exact = (count: number) => new Map(Array.from({ length: count }, (_, at) => [at + 1, 0]));

it.each([
  ['forward by 56 years, as on a robot without a battery for its clock', -56 * 365.25 * 24 * HOUR],
  ['back by an hour', HOUR],
])('what waited while the clock was set %s is corrected by the offset of its own time', async (_what, wrongMs) => {
  const robot = new Robot();
  robot.wrongMs = wrongMs;
  await robot.sample(5);
  robot.wrongMs = 0;
  await robot.sample(5);
  expect(await robot.upload()).toEqual(exact(10));
});

it('so it is where the agent was started anew meanwhile', async () => {
  const robot = new Robot();
  robot.wrongMs = 2 * HOUR;
  await robot.sample(3);
  robot.restart(3_000);
  robot.wrongMs = 0;
  await robot.sample(2);
  expect(await robot.upload()).toEqual(exact(5));
});

it('what waited through a boot is corrected by what was measured before it', async () => {
  const robot = new Robot();
  robot.wrongMs = 10_000;
  await robot.sample(2);
  await robot.upload();
  // Out of the network; then a boot with a clock that stands somewhere else.
  await robot.sample(3);
  robot.bootId = freshUuid();
  robot.restart(5_000);
  robot.wrongMs = -HOUR;
  await robot.sample(1);
  expect(await robot.upload()).toEqual(new Map([3, 4, 5, 6].map((n) => [n, 0])));
});

it('a clock that is slewed, not set, makes no batches of its own', async () => {
  const robot = new Robot();
  for (let n = 0; n < 20; n += 1) {
    robot.wrongMs += 20;
    await robot.sample(1);
  }
  expect([...(await robot.upload()).values()].every((off) => Math.abs(off) <= 1)).toBe(true);
});

it('the clocks of rows that are gone are forgotten also where the commit that does it fails', () => {
  const path = join(tempDataDir(), 'spool.db');
  const options = { path, migrations: SPOOL_MIGRATIONS, newId: freshUuid, now: Date.now, log: silent };
  const { db } = openStoreFile(options, (file) => file);
  onTestFinished(() => void db.close());
  new ClockLedger(db).note(90, { bootId: 'before', baseMs: 0 });
  const clocks = new ClockLedger(db);
  clocks.reload(1);
  const now = { bootId: 'now', baseMs: 5_000 };
  const refused = db.transaction(() => {
    clocks.note(1, now);
    throw new RangeError('no space');
  });
  expect(refused).toThrow('no space');
  clocks.reload(2);
  clocks.note(2, now);
  // As the next start reads it, when there are rows from 2 to 100.
  const again = new ClockLedger(db);
  again.reload(101);
  expect(again.endOf(2)).toBe(Number.POSITIVE_INFINITY);
});
