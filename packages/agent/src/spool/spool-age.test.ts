import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Batch } from '@drover/shared/link/batch';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openStoreFile } from '../disk/store-file.js';
import { SESSION_GRACE_MS } from './age-ledger.js';
import type { Boot } from './clocks.js';
import { freshUuid, numbersOf, point, silent, tempDataDir } from './fixture.js';
import { openSpool } from './open.js';
import { SPOOL_MIGRATIONS } from './schema.js';
import { Uploader } from './uploader.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;
const NOTHING = { live: 0, backfill: 0 };
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** A robot that can be booted, with a wall clock that can be set; its data may wait for two days. */
class Robot {
  readonly dataDir: string;
  bootId = freshUuid();
  /** Since the boot. */
  sinceMs = 0;
  wallMs = Date.parse('2026-11-21T12:00:00Z');
  /** The cloud's clock minus the wall clock; null: not measured. */
  offsetMs: number | null = null;
  /** What the cloud got, which acknowledges nothing but what it is told to. */
  readonly sent: Batch[] = [];
  #part: ReturnType<Robot['start']> | null = null;

  constructor(dataDir = tempDataDir()) {
    this.dataDir = dataDir;
    onTestFinished(() => this.stop());
  }

  get spool() {
    return this.part.spool;
  }

  private get part() {
    this.#part ??= this.start();
    return this.#part;
  }

  pass(ms: number): void {
    this.sinceMs += ms;
    this.wallMs += ms;
  }

  /** Appends points of these numbers and waits for them to be on disk. */
  async collect(numbers: number[], source = '/counter'): Promise<void> {
    const { nextId } = this.spool.store;
    for (const n of numbers) this.spool.append(point(n, { source, robotStampMs: this.wallMs }));
    await expect.poll(() => this.spool.store.nextId).toBe(nextId + numbers.length);
  }

  /** The agent is started anew. */
  restart(): void {
    this.stop();
    this.#part = this.start();
  }

  /** Switched off for so long. */
  boot(offMs: number): void {
    this.stop();
    this.wallMs += offMs;
    this.bootId = freshUuid();
    this.sinceMs = 20_000;
    this.restart();
  }

  connect(): void {
    this.part.uploader.open({ send: (batch) => this.sent.push(batch) }, NOTHING);
  }

  disconnect(): void {
    this.part.uploader.close();
  }

  /** All the cloud got, each once. */
  got(): number[] {
    return [...new Set(this.sent.flatMap(numbersOf))].map((n) => n ?? -1).sort((one, other) => one - other);
  }

  stop(): void {
    this.#part?.uploader.close();
    this.#part?.spool.close();
  }

  private start() {
    const startedMs = this.sinceMs;
    const boot: Boot = { id: this.bootId, sinceMs: () => this.sinceMs };
    const clocks = { now: () => this.wallMs, monotonicNow: () => this.sinceMs - startedMs, boot };
    const files = { dataDir: this.dataDir, newId: freshUuid, log: silent };
    const spool = openSpool({ ...files, ...clocks, bytesMax: 1e9, ageMsMax: 2 * DAY });
    const clockOffset = () => (this.offsetMs === null ? null : { offset_ms: this.offsetMs, uncertainty_ms: 1 });
    return { spool, uploader: new Uploader({ spool, clockOffset, log: silent }) };
  }
}

const tooOld = (rows: number, source = '/counter') => ({ source, reason: 'too_old', rows, bytes: rows * (48 + 12) });

describe('what has waited for longer than the spool lets it', () => {
  it('is dropped, oldest first, and counted by its stream; what has not is kept', async () => {
    const robot = new Robot();
    await robot.collect(range(1, 3));
    await robot.collect([4], '/other');
    robot.pass(DAY);
    await robot.collect([5]);
    robot.pass(DAY + HOUR);
    await robot.collect([6]);
    expect(robot.spool.drops()).toEqual([tooOld(3), tooOld(1, '/other')]);
    robot.pass(DAY);
    await robot.collect([7]);
    expect(robot.spool.drops()).toEqual([tooOld(4), tooOld(1, '/other')]);
    robot.connect();
    await expect.poll(() => robot.got()).toEqual([6, 7]);
    expect(robot.spool.store.held().rows).toBe(2);
  });

  it('is dropped also where nothing comes any more', async () => {
    const robot = new Robot();
    await robot.collect([1]);
    robot.stop();
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    robot.restart();
    robot.pass(DAY);
    vi.advanceTimersByTime(HOUR);
    expect(robot.spool.store.held().rows).toBe(1);
    robot.pass(DAY + HOUR);
    vi.advanceTimersByTime(HOUR);
    expect(robot.spool.drops()).toEqual([tooOld(1)]);
    expect(robot.spool.store.held().rows).toBe(0);
  });

  it('is dropped in steps, however much it is, and also where nothing comes any more', async () => {
    const robot = new Robot();
    await robot.collect(range(1, 45_000));
    robot.pass(3 * DAY);
    await robot.collect([45_001]);
    await expect.poll(() => robot.spool.drops()).toEqual([tooOld(45_000)]);
    expect(robot.spool.store.held().rows).toBe(1);
  });

  it('is kept where it was sent, until it is acknowledged', async () => {
    const robot = new Robot();
    await robot.collect(range(1, 3));
    robot.connect();
    await expect.poll(() => robot.got()).toEqual([1, 2, 3]);
    robot.disconnect();
    await robot.collect(range(4, 6));
    robot.pass(3 * DAY);
    await robot.collect([7]);
    expect(robot.spool.drops()).toEqual([tooOld(3)]);
    robot.connect();
    await expect.poll(() => robot.got()).toEqual([1, 2, 3, 7]);
  });

  it('is delivered where a session stands, and for an hour after one', async () => {
    const robot = new Robot();
    await robot.collect([1]);
    // Asleep meanwhile: nothing could be dropped.
    robot.pass(3 * DAY);
    robot.spool.setOutlet({ liveFromId: () => 0, mayForm: () => false, formed: () => {} });
    await robot.collect([2]);
    robot.disconnect();
    robot.pass(SESSION_GRACE_MS - 1);
    await robot.collect([3]);
    expect(robot.spool.drops()).toEqual([]);
    robot.pass(1);
    await robot.collect([4]);
    expect(robot.spool.drops()).toEqual([tooOld(1)]);
  });

  it('is delivered within an hour of a session though the agent was killed or the robot booted meanwhile', async () => {
    const robot = new Robot();
    await robot.collect([1]);
    robot.pass(3 * DAY);
    robot.spool.setOutlet({ liveFromId: () => 0, mayForm: () => false, formed: () => {} });
    await robot.collect([2]);
    robot.restart();
    await robot.collect([3]);
    robot.boot(HOUR);
    await robot.collect([4]);
    robot.pass(SESSION_GRACE_MS / 2);
    await robot.collect([5]);
    expect(robot.spool.drops()).toEqual([]);
    // To a minute, not earlier.
    robot.pass(SESSION_GRACE_MS / 2 + 60_000);
    await robot.collect([6]);
    expect(robot.spool.drops()).toEqual([tooOld(1)]);
  });

  it('is never told by the robot’s wall clock, which may be set by years, nor by stamps', async () => {
    const robot = new Robot();
    robot.wallMs = 0;
    await robot.collect([1, 2]);
    robot.wallMs = Date.parse('2030-01-01T00:00:00Z');
    await robot.collect([3]);
    robot.restart();
    robot.wallMs += 10 * YEAR;
    await robot.collect([4]);
    robot.boot(10 * YEAR);
    robot.pass(DAY);
    await robot.collect([5]);
    expect(robot.spool.drops()).toEqual([]);
    robot.connect();
    await expect.poll(() => robot.got()).toEqual(range(1, 5));
  });

  it('is known over restarts of the agent', async () => {
    const robot = new Robot();
    await robot.collect([1]);
    await robot.collect([2]);
    robot.pass(DAY);
    robot.restart();
    robot.pass(DAY + HOUR);
    await robot.collect([3]);
    expect(robot.spool.drops()).toEqual([tooOld(2)]);
    robot.stop();
    // Stopped for days while the machine runs.
    robot.pass(3 * DAY);
    robot.restart();
    await robot.collect([4]);
    expect(robot.spool.drops()).toEqual([tooOld(3)]);
  });

  it('is not dropped after a year without power before the robot knows the time, and delivered then', async () => {
    const robot = new Robot();
    robot.offsetMs = 0;
    await robot.collect([1]);
    robot.connect();
    await expect.poll(() => robot.got()).toEqual([1]);
    robot.disconnect();
    robot.offsetMs = null;
    await robot.collect([2]);
    robot.boot(YEAR);
    robot.pass(DAY);
    await robot.collect([3]);
    expect(robot.spool.drops()).toEqual([]);
    robot.offsetMs = 0;
    robot.connect();
    await expect.poll(() => robot.got()).toEqual([1, 2, 3]);
  });

  it('is dropped where the cloud’s clock told how long the robot had no power, and the session brought nothing', async () => {
    const robot = new Robot();
    const standing = {
      liveFromId: () => 0,
      mayForm: () => false,
      formed: () => {},
      clock: () => ({ offset_ms: 0, uncertainty_ms: 1 }),
    };
    robot.spool.setOutlet(standing);
    await robot.collect([1]);
    robot.spool.setOutlet(null);
    robot.boot(YEAR);
    await robot.collect([2]);
    robot.spool.setOutlet(standing);
    await robot.collect([3]);
    robot.spool.setOutlet(null);
    robot.pass(SESSION_GRACE_MS);
    await robot.collect([4]);
    expect(robot.spool.drops()).toEqual([tooOld(1)]);
    expect(robot.spool.store.held().rows).toBe(3);
  });
});

it('a file of before ages were known is opened, and its rows wait from then on', async () => {
  const path = join(tempDataDir(), 'spool.db');
  const options = { path, newId: freshUuid, now: Date.now, log: silent };
  openStoreFile({ ...options, migrations: SPOOL_MIGRATIONS.slice(0, 2) }, ({ db }) => {
    db.exec(`
      INSERT INTO sources VALUES (1, '/counter', 2, ${2 * (48 + 12)});
      INSERT INTO schemas VALUES ('${'a'.repeat(64)}', 'std_msgs/msg/Int64', 'int64 data');
      INSERT INTO channels VALUES (1, 1, 'std_msgs/msg/Int64', '${'a'.repeat(64)}', '/robot');
      INSERT INTO rows VALUES (5, 1, 0, zeroblob(12)), (6, 1, 0, zeroblob(12));
    `);
    db.close();
  });
  const robot = new Robot(join(path, '..'));
  robot.pass(9 * DAY);
  await robot.collect([3]);
  robot.pass(DAY);
  await robot.collect([4]);
  expect(robot.spool.drops()).toEqual([]);
  robot.pass(DAY + HOUR);
  await robot.collect([5]);
  expect(robot.spool.drops()).toEqual([tooOld(3)]);
});

it('at kill -9 amid the drops each row is either there or counted', async () => {
  for (const commits of [1, 2, 3]) {
    const dataDir = tempDataDir();
    const script = fileURLToPath(new URL('../../dist/spool/crash-dropper.fixture.js', import.meta.url));
    const dropper = spawn(process.execPath, [script, dataDir, String(commits)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const told: string[] = [];
    for await (const line of createInterface({ input: dropper.stdout })) told.push(line);
    if (dropper.exitCode === null && dropper.signalCode === null) await once(dropper, 'exit');
    expect(dropper.signalCode).toBe('SIGKILL');
    const appended = Number(told.at(-1));
    const robot = new Robot(dataDir);
    const [drop] = robot.spool.drops();
    expect(drop).toMatchObject({ reason: 'too_old' });
    const { rows } = robot.spool.store.held();
    expect((drop?.rows ?? 0) + rows).toBe(appended);
    robot.connect();
    await expect.poll(() => robot.got()).not.toEqual([]);
    const left = robot.got();
    // What is left is the youngest.
    expect(left).toEqual(range((drop?.rows ?? 0) + 1, (drop?.rows ?? 0) + left.length));
    robot.stop();
  }
});
