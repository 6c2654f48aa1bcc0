import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openStoreFile } from '../disk/store-file.js';
import { AgeLedger, type AgeMoment } from './age-ledger.js';
import { freshUuid, silent, tempDataDir } from './fixture.js';
import { SPOOL_MIGRATIONS } from './schema.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** What is not counted at most of a boot, and of a mark. */
const COARSE = MINUTE + (7 * DAY) / 500;

/** A ledger whose rows come one by one, on a robot that can be booted. */
function open(path = join(tempDataDir(), 'spool.db')) {
  const options = { path, migrations: SPOOL_MIGRATIONS, newId: freshUuid, now: Date.now, log: silent };
  const { db } = openStoreFile(options, (file) => file);
  onTestFinished(() => void db.close());
  // A write a minute of years: the disk is not what is tested.
  db.pragma('synchronous = OFF');
  let ledger = new AgeLedger(db);
  const robot = { bootId: freshUuid(), sinceMs: 0, nextId: 1, openedBeforeId: 1, cloudMs: null as number | null };
  const note = () => {
    const moment: AgeMoment = {
      now: { bootId: robot.bootId, sinceMs: robot.sinceMs },
      cloudMs: robot.cloudMs,
      maxMs: 7 * DAY,
      hasSession: robot.cloudMs !== null,
    };
    ledger.note({ oldestId: 1, nextId: robot.nextId, openedBeforeId: robot.openedBeforeId }, moment);
  };
  return {
    db,
    robot,
    note,
    /** A row a minute. @returns the id of the last. */
    collect: (forMs: number): number => {
      for (let passed = 0; passed < forMs; passed += MINUTE) {
        robot.sinceMs += MINUTE;
        if (robot.cloudMs !== null) robot.cloudMs += MINUTE;
        ledger.comes(robot.nextId);
        robot.nextId += 1;
        note();
      }
      return robot.nextId - 1;
    },
    /** The agent is started anew, in another boot unless it is to be the same. */
    restart: (boot: 'same boot' | 'boot' = 'boot', cloudMs: number | null = null) => {
      if (boot === 'boot') Object.assign(robot, { bootId: freshUuid(), sinceMs: 30_000 });
      robot.cloudMs = cloudMs;
      robot.openedBeforeId = robot.nextId;
      ledger = new AgeLedger(db);
      // As the agent's first commit.
      note();
    },
    /** How old the row seems, milliseconds, to a minute. */
    ageOf: (id: number) => {
      const now = { bootId: robot.bootId, sinceMs: robot.sinceMs };
      let low = 0;
      let high = 4000 * DAY;
      while (high - low > MINUTE) {
        const middle = (low + high) / 2;
        if (ledger.idBefore(middle, now) > id) low = middle;
        else high = middle;
      }
      return low;
    },
  };
}

function expectAge(ageMs: number, trueMs: number, coarseMs = COARSE): void {
  expect(ageMs).toBeLessThanOrEqual(trueMs);
  expect(ageMs).toBeGreaterThanOrEqual(trueMs - coarseMs - 2 * MINUTE);
}

it('counts the time within a boot, restarts of the agent and suspension included', () => {
  const { collect, restart, ageOf, robot } = open();
  const first = collect(MINUTE);
  const later = collect(5 * HOUR);
  restart('same boot');
  collect(2 * HOUR);
  // Asleep.
  robot.sinceMs += 3 * DAY;
  expectAge(ageOf(first), 3 * DAY + 7 * HOUR);
  expectAge(ageOf(later), 3 * DAY + 2 * HOUR);
  expect(ageOf(robot.nextId - 1)).toBeLessThanOrEqual(3 * DAY);
});

it('counts each boot, and nothing for the time between two', () => {
  const { collect, restart, ageOf } = open();
  const first = collect(MINUTE);
  for (let boots = 0; boots < 48; boots += 1) {
    collect(HOUR);
    restart();
  }
  expectAge(ageOf(first), 2 * DAY, 48 * MINUTE + COARSE);
});

it('counts nothing of a boot from before the agent was started in it: the file may have come from elsewhere', () => {
  const { collect, restart, ageOf, robot } = open();
  const first = collect(MINUTE);
  robot.bootId = freshUuid();
  robot.sinceMs = 200 * DAY;
  restart('same boot');
  expect(ageOf(first)).toBeLessThan(2 * MINUTE);
});

it('puts what passed between two boots where it was, once the cloud’s clock is known in both', () => {
  const { collect, restart, ageOf, note, robot } = open();
  robot.cloudMs = 1_000 * DAY;
  const first = collect(MINUTE);
  robot.cloudMs = null;
  // Out of reach; then switched off for a year.
  const last = collect(10 * HOUR);
  restart();
  const after = collect(HOUR);
  expectAge(ageOf(first), 11 * HOUR);
  robot.cloudMs = 1_000 * DAY + MINUTE + 365 * DAY;
  note();
  expectAge(ageOf(first), 365 * DAY);
  // Collected before it was switched off, so from before the year too.
  expectAge(ageOf(last), 365 * DAY - 10 * HOUR);
  expect(ageOf(after)).toBeLessThanOrEqual(MINUTE);
  expect(ageOf(last + 1)).toBeLessThanOrEqual(HOUR);
});

it('lets what was collected in a boot that never knew the time seem young', () => {
  const { collect, restart, ageOf, robot } = open();
  robot.cloudMs = 1_000 * DAY;
  const first = collect(HOUR);
  restart();
  const between = collect(HOUR);
  restart('boot', 1_400 * DAY);
  collect(HOUR);
  expectAge(ageOf(first), 400 * DAY);
  expectAge(ageOf(between), HOUR);
});

it('counts on by the boot’s own time where the cloud’s clock is set', () => {
  const { collect, restart, ageOf, robot } = open();
  robot.cloudMs = 0;
  const first = collect(HOUR);
  robot.cloudMs = 10_000 * DAY;
  collect(HOUR);
  expectAge(ageOf(first), HOUR);
  restart('same boot');
  robot.cloudMs = 0;
  collect(HOUR);
  expectAge(ageOf(first), 2 * HOUR);
});

it('never counts a row that comes under the id of one that is gone', () => {
  const { collect, restart, ageOf, robot } = open();
  collect(6 * HOUR);
  robot.sinceMs += DAY;
  // All of them went but ten; then the agent was started anew.
  robot.nextId = 11;
  restart('same boot');
  collect(2 * HOUR);
  expect(ageOf(11)).toBeLessThanOrEqual(2 * HOUR);
  expectAge(ageOf(1), DAY + 8 * HOUR);
  restart();
  expect(ageOf(11)).toBeLessThanOrEqual(2 * HOUR);
});

it('keeps a bounded number of marks, however long nothing can be sent, and however often it boots', () => {
  const { db, collect, restart, ageOf, robot } = open();
  const first = collect(MINUTE);
  const count = db.prepare<[], number>('SELECT count(*) FROM age_marks').pluck();
  for (let boots = 0; boots < 1_500; boots += 1) {
    collect(3 * MINUTE);
    restart();
  }
  for (let n = 0; n < 1_000; n += 1) {
    robot.sinceMs += HOUR;
    collect(MINUTE);
  }
  expect(count.get()).toBeLessThanOrEqual(1_000);
  expect(ageOf(first)).toBeGreaterThan(40 * DAY);
});
