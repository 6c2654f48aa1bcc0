import { copyFileSync, cpSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStoreFile, setAside } from '../disk/store-file.js';
import { executed, freshUuid, silent, tempDataDir, topicCommand } from './fixture.js';
import { checkInboxFile, Inbox } from './inbox.js';
import { INBOX_MIGRATIONS } from './inbox-tables.js';
import { openInbox } from './open.js';

const GOAL_ID = 'aa'.repeat(16);

/** @param aheadMs of the wall clock's true time. */
function open(dataDir: string, aheadMs = 0) {
  const now = () => Date.now() + aheadMs;
  return openInbox({ dataDir, newId: freshUuid, now, monotonicNow: () => performance.now(), log: silent });
}

/** One of each kind of command. */
function fill(inbox: Inbox) {
  const [ended, runs, waits] = [topicCommand(), topicCommand(), topicCommand()];
  const goal = topicCommand({ interface: 'action_send_goal' });
  const waitingGoal = topicCommand({ interface: 'action_send_goal' });
  const take = (command: typeof goal, running: boolean, goalId: string | null = null) => ({ command, running, goalId });
  inbox.take([take(ended, true), take(runs, true), take(goal, true, GOAL_ID)], Date.now());
  inbox.take([take(waits, false), take(waitingGoal, false, 'bb'.repeat(16))], Date.now());
  inbox.finish([executed(ended.uuid)]);
  return { ended, runs, waits, goal, waitingGoal };
}

/** What an agent that opens it would do with what it finds. */
function findings(inbox: Inbox) {
  const { waiting, goals, ended } = inbox.recover(Date.now());
  return {
    runs: waiting.map(({ command }) => command.uuid),
    follows: goals.map(({ command }) => command.uuid),
    tells: [...ended, ...inbox.undelivered(99)].map(({ uuid }) => uuid),
  };
}

function copyOf(dataDir: string): string {
  const copy = join(tempDataDir(), 'copy');
  cpSync(dataDir, copy, { recursive: true });
  return copy;
}

describe('an inbox', () => {
  it.each(['after a stop', 'after a crash'])('is the one that it was %s', (how) => {
    const dir = tempDataDir();
    const inbox = open(dir);
    const { ended, runs, waits, goal, waitingGoal } = fill(inbox);
    if (how === 'after a stop') inbox.close();
    const again = open(dir);
    expect(again.id).toBe(inbox.id);
    expect(findings(again)).toEqual({
      runs: [waits.uuid, waitingGoal.uuid],
      follows: [goal.uuid],
      tells: [runs.uuid, ended.uuid],
    });
  });

  it('whose directory was moved is the one that it was', () => {
    const dir = tempDataDir();
    const [before, after] = [join(dir, 'a'), join(dir, 'b')];
    mkdirSync(before);
    const inbox = open(before);
    fill(inbox);
    inbox.close();
    renameSync(before, after);
    expect(open(after).id).toBe(inbox.id);
  });

  it.each(['while it is written to', 'after a stop'])(
    'that is a copy made %s runs nothing, and tells what had ended',
    (when) => {
      const dir = tempDataDir();
      const inbox = open(dir);
      const { ended, goal } = fill(inbox);
      if (when === 'after a stop') inbox.close();
      const copy = open(copyOf(dir));
      expect(copy.id).not.toBe(inbox.id);
      expect(findings(copy)).toEqual({ runs: [], follows: [goal.uuid], tells: [ended.uuid] });
    },
  );

  it('that was copied back over itself is a copy, though its inode is the same', () => {
    const dir = tempDataDir();
    const path = join(dir, 'inbox.db');
    // Its last write was some time ago.
    const inbox = open(dir, -60_000);
    fill(inbox);
    inbox.close();
    const copy = copyOf(dir);
    const { ino } = statSync(path);
    copyFileSync(join(copy, 'inbox.db'), path);
    expect(statSync(path).ino).toBe(ino);
    const again = open(dir);
    expect(again.id).not.toBe(inbox.id);
    expect(findings(again).runs).toEqual([]);
  });

  it('that is a copy knows what it knew: a command that waited or ran in it is never taken again', () => {
    const dir = tempDataDir();
    const made = fill(open(dir));
    const copy = open(copyOf(dir));
    const unknown = { state: 'done', outcome: { error_code: 'outcome_unknown' } };
    expect(copy.find(made.waits.uuid)).toMatchObject(unknown);
    expect(copy.find(made.runs.uuid)).toMatchObject(unknown);
    expect(copy.find(made.ended.uuid)).toMatchObject({ state: 'done', outcome: { state: 'executed' } });
    expect(copy.find(made.goal.uuid)).toMatchObject({ state: 'running' });
  });

  it('that is a copy keeps its new id at the next start, with nothing new struck out', () => {
    const dir = tempDataDir();
    fill(open(dir));
    const copied = copyOf(dir);
    const copy = open(copied);
    const command = topicCommand();
    copy.take([{ command, running: false, goalId: null }], Date.now());
    copy.close();
    const again = open(copied);
    expect(again.id).toBe(copy.id);
    expect(findings(again).runs).toEqual([command.uuid]);
  });

  it('that the cloud calls stale gets a new id, strikes out what waits, and lets go on what runs', () => {
    const dir = tempDataDir();
    const inbox = open(dir);
    const { runs, waits } = fill(inbox);
    const { id } = inbox;
    inbox.renew();
    expect(inbox.id).not.toBe(id);
    expect(inbox.find(waits.uuid)).toMatchObject({ state: 'done', outcome: { error_code: 'outcome_unknown' } });
    inbox.finish([executed(runs.uuid)]);
    inbox.close();
    const again = open(dir);
    expect(again.id).toBe(inbox.id);
    expect(again.find(runs.uuid)).toMatchObject({ state: 'done', outcome: { state: 'executed' } });
  });

  it('tells each write by its version, and each run of the agent by its tenure', () => {
    const dir = tempDataDir();
    const first = open(dir);
    const [atFirst] = [first.said().lineage];
    fill(first);
    expect(first.version).toBe((atFirst?.version ?? 0) + 3);
    const crashed = first.said().lineage;
    const second = open(dir).said().lineage;
    expect(second?.id).not.toBe(crashed?.id);
    expect(second?.earlier).toEqual([{ id: crashed?.id, version: crashed?.version }]);
    expect(second?.version).toBe((crashed?.version ?? 0) + 1);
  });

  it('of an agent that knew no lineages is the one that it was', () => {
    const dir = tempDataDir();
    const file = { path: join(dir, 'inbox.db'), newId: freshUuid, now: Date.now, log: silent };
    const before = openStoreFile({ ...file, migrations: INBOX_MIGRATIONS.slice(0, 2) }, (opened) => opened);
    const { uuid } = topicCommand();
    before.db
      .prepare(`INSERT INTO commands (uuid, state, body, taken_at_ms) VALUES (?, 'waiting', ?, 1)`)
      .run(uuid, JSON.stringify(topicCommand({ uuid })));
    before.db.close();
    const inbox = open(dir);
    expect(inbox.id).toBe(before.id);
    expect(findings(inbox).runs).toEqual([uuid]);
  });

  it('that is a copy on a disk which takes no writes is one in memory, and on disk with the first write', () => {
    const dir = tempDataDir();
    const { waits } = fill(open(dir));
    const copied = copyOf(dir);
    let disk: { pragma: (text: string) => unknown } | undefined;
    const file = { path: join(copied, 'inbox.db'), newId: freshUuid, now: Date.now, log: silent };
    const copy = new Inbox({
      ...file,
      open: () =>
        openStoreFile({ ...file, migrations: INBOX_MIGRATIONS }, (opened) => {
          opened.db.pragma('query_only = ON');
          disk = opened.db;
          return checkInboxFile(opened);
        }),
      setAside: (why, detail) => setAside(file, why, detail),
    });
    const { id } = copy;
    expect(copy.said().id).toBe(id);
    expect(findings(copy).runs).toEqual([]);
    const take = () => copy.take([{ command: topicCommand(), running: true, goalId: null }], 1);
    expect(take).toThrow('readonly');
    disk?.pragma('query_only = OFF');
    take();
    expect(copy.find(waits.uuid)).toMatchObject({ state: 'done' });
    copy.close();
    expect(open(copied).id).toBe(id);
  });

  it('remembers as many tenures as may be told', () => {
    const dir = tempDataDir();
    for (let run = 0; run < 70; run += 1) open(dir).close();
    expect(open(dir).said().lineage?.earlier).toHaveLength(64);
  });

  it('is not set aside for being a copy: no file is left over', () => {
    const dir = tempDataDir();
    fill(open(dir));
    const copied = copyOf(dir);
    rmSync(dir, { recursive: true });
    open(copied).close();
    expect(readdirSync(copied)).toEqual(['inbox.db']);
  });
});
