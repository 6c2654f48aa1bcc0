import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openStoreFile, setAside } from '../disk/store-file.js';
import { executed, freshUuid, silent, tempDataDir, topicCommand } from './fixture.js';
import { checkInboxFile, Inbox, KEEP_NEWEST } from './inbox.js';
import { INBOX_MIGRATIONS } from './inbox-tables.js';
import { openInbox } from './open.js';

const DAY_MS = 24 * 3600 * 1000;

function open(dataDir: string) {
  const options = { newId: freshUuid, now: Date.now, monotonicNow: () => performance.now(), log: silent };
  return openInbox({ ...options, dataDir });
}

/** So many newer ones that those before are no more among the newest, which are kept in any case. */
function fillUp(inbox: ReturnType<typeof open>): void {
  inbox.finish(Array.from({ length: KEEP_NEWEST }, () => executed(freshUuid())));
}

describe('the inbox', () => {
  it('numbers commands, remembers them across a restart, and never gives a number twice', () => {
    const dir = tempDataDir();
    const inbox = open(dir);
    const [a, b] = [topicCommand(), topicCommand()];
    const take = (command: typeof a) => ({ command, running: false, goalId: null });
    expect(inbox.take([take(a), take(b)], 1)).toEqual([1, 2]);
    inbox.finish([executed(b.uuid, { finished_robot_ms: 0 })]);
    inbox.delivered([b.uuid], 0);
    fillUp(inbox);
    const last = inbox.lastSeq();
    inbox.close();
    const again = open(dir);
    expect(again.id).toBe(inbox.id);
    expect(again.find(a.uuid)).toEqual({ seq: 1, state: 'waiting' });
    expect(again.prune(31 * DAY_MS)).toBe(1);
    expect(again.find(b.uuid)).toBeNull();
    expect(again.take([take(topicCommand())], 1)).toEqual([last + 1]);
    expect(again.lastSeq()).toBe(last + 1);
  });

  it('forgets a command 30 days after the cloud had its outcome, whatever the robot’s clock said when it ended', () => {
    const inbox = open(tempDataDir());
    const toldMs = Date.UTC(2026, 0, 1);
    // No battery keeps its clock: it stands in 1970 until it is set.
    const [told, untold] = [freshUuid(), freshUuid()];
    inbox.finish([executed(told, { finished_robot_ms: 1 }), executed(untold, { finished_robot_ms: 1 })]);
    inbox.delivered([told], toldMs);
    fillUp(inbox);
    expect(inbox.prune(toldMs + 29 * DAY_MS)).toBe(0);
    expect(inbox.prune(toldMs + 31 * DAY_MS)).toBe(1);
    expect([inbox.find(told)?.state, inbox.find(untold)?.state]).toEqual([undefined, 'done']);
  });

  it('never forgets the newest commands, though a clock says that they are years old', () => {
    const inbox = open(tempDataDir());
    const uuids = Array.from({ length: KEEP_NEWEST + 5 }, () => freshUuid());
    inbox.finish(uuids.map((uuid) => executed(uuid)));
    inbox.delivered(uuids, 0);
    expect(inbox.prune(Date.UTC(2100, 0, 1))).toBe(5);
    expect(uuids.map((uuid) => inbox.find(uuid) !== null).indexOf(true)).toBe(5);
  });

  it('refuses a uuid it has, changing nothing', () => {
    const inbox = open(tempDataDir());
    const command = topicCommand();
    const take = { command, running: true, goalId: null };
    inbox.take([take], 1);
    expect(() => inbox.take([{ ...take, command: topicCommand() }, take], 1)).toThrow();
    expect(inbox.lastSeq()).toBe(1);
  });

  it('keeps the first outcome of a command', () => {
    const inbox = open(tempDataDir());
    const command = topicCommand();
    inbox.take([{ command, running: true, goalId: null }], 1);
    inbox.finish([executed(command.uuid)]);
    inbox.finish([executed(command.uuid, { state: 'error', error_code: 'timeout' })]);
    expect(inbox.find(command.uuid)).toMatchObject({ state: 'done', outcome: { state: 'executed' } });
  });

  it('tells undelivered outcomes in order until they are delivered, however old they are', () => {
    const inbox = open(tempDataDir());
    const uuids = [1, 2, 3].map(() => freshUuid());
    for (const uuid of uuids) inbox.finish([executed(uuid, { finished_robot_ms: 0 })]);
    expect(inbox.undelivered(2).map((outcome) => outcome.uuid)).toEqual(uuids.slice(0, 2));
    inbox.delivered([uuids[1] ?? ''], 0);
    fillUp(inbox);
    inbox.prune(1000 * DAY_MS);
    expect(inbox.find(uuids[1] ?? '')).toBeNull();
    expect(inbox.undelivered(2).map((outcome) => outcome.uuid)).toEqual([uuids[0], uuids[2]]);
  });

  it('after a restart ends what was running as outcome_unknown and returns what waited, in order', () => {
    const dir = tempDataDir();
    const inbox = open(dir);
    const [ran, first, second, started] = [topicCommand(), topicCommand(), topicCommand(), topicCommand()];
    inbox.take([{ command: ran, running: true, goalId: null }], 1);
    const waiting = [first, second, started].map((command) => ({ command, running: false, goalId: null }));
    inbox.take(waiting, 1);
    inbox.start(started.uuid, 'ab'.repeat(16), 2);
    inbox.close();
    const again = open(dir);
    const found = again.recover(5_000);
    expect(found.waiting.map((entry) => entry.command)).toEqual([first, second]);
    const unknown = { error_code: 'outcome_unknown', finished_robot_ms: 5_000 };
    expect(found.ended).toMatchObject([
      { uuid: ran.uuid, ...unknown },
      { uuid: started.uuid, ...unknown },
    ]);
    again.finish(found.ended);
    expect(again.recover(6_000).ended).toEqual([]);
  });

  it('after a restart tells the goals that were running, with what is needed to follow them', () => {
    const dir = tempDataDir();
    const inbox = open(dir);
    const goal = () => topicCommand({ interface: 'action_send_goal' });
    const [atOnce, later, waiting] = [goal(), goal(), goal()];
    inbox.take([{ command: atOnce, running: true, goalId: 'aa'.repeat(16) }], 1_000);
    const rest = [later, waiting].map((command) => ({ command, running: false, goalId: null }));
    inbox.take(rest, 1_000);
    inbox.start(later.uuid, 'bb'.repeat(16), 2_000);
    inbox.askCancel(later.uuid);
    inbox.askCancel(waiting.uuid);
    inbox.close();
    const { goals, ended } = open(dir).recover(5_000);
    expect(ended).toEqual([]);
    expect(goals).toEqual([
      { seq: 1, command: atOnce, goalId: 'aa'.repeat(16), startedAtMs: 1_000, cancelAsked: false },
      { seq: 2, command: later, goalId: 'bb'.repeat(16), startedAtMs: 2_000, cancelAsked: true },
    ]);
  });

  it('sets a corrupt file aside and begins a new one under a new id', () => {
    const dir = tempDataDir();
    writeFileSync(join(dir, 'inbox.db'), Buffer.alloc(8192, 7));
    expect(open(dir).lastSeq()).toBe(0);
    expect(readdirSync(dir).some((name) => name.startsWith('inbox.db.corrupt-'))).toBe(true);
  });

  it("sets another robot's inbox aside", () => {
    const dir = tempDataDir();
    const inbox = open(dir);
    expect(inbox.claim({ id: 'robot-1', uid: null })).toBe('ours');
    inbox.take([{ command: topicCommand(), running: false, goalId: null }], 1);
    const { id } = inbox;
    expect(inbox.claim({ id: 'robot-2', uid: null })).toBe('changed');
    expect(inbox.id).not.toBe(id);
    expect(inbox.lastSeq()).toBe(0);
    expect(inbox.claim({ id: 'robot-2', uid: null })).toBe('ours');
    expect(readdirSync(dir).some((name) => name.startsWith('inbox.db.other-robot-'))).toBe(true);
  });

  it('that could not be replaced at once is opened at its next use, and says that it is new', () => {
    const dir = tempDataDir();
    const common = { newId: freshUuid, now: Date.now, log: silent };
    const file = { ...common, path: join(dir, 'inbox.db'), migrations: INBOX_MIGRATIONS };
    let refuses = false;
    const inbox = new Inbox({
      ...common,
      open: () => {
        if (refuses) throw new RangeError('no space');
        return openStoreFile(file, checkInboxFile);
      },
      setAside: (why, detail) => setAside(file, why, detail),
    });
    let renewals = 0;
    inbox.onIdentityChange(() => {
      renewals += 1;
    });
    inbox.claim({ id: 'robot-1', uid: null });
    refuses = true;
    expect(() => inbox.claim({ id: 'robot-2', uid: null })).toThrow('no space');
    expect(() => inbox.lastSeq()).toThrow('no space');
    refuses = false;
    expect(inbox.lastSeq()).toBe(0);
    expect(renewals).toBe(1);
    expect(inbox.claim({ id: 'robot-2', uid: null })).toBe('ours');
  });

  it('has on disk whatever take() returned from, when killed right after', async () => {
    const dataDir = tempDataDir();
    const script = fileURLToPath(new URL('../../dist/spool/crash-taker.fixture.js', import.meta.url));
    const uuid = freshUuid();
    const taker = spawn(process.execPath, [script, dataDir, uuid], { stdio: ['ignore', 'ignore', 'inherit'] });
    const [, signal] = await once(taker, 'exit');
    expect(signal).toBe('SIGKILL');
    const inbox = open(dataDir);
    expect(inbox.find(uuid)).toEqual({ seq: 1, state: 'running' });
    expect(inbox.recover(1).ended).toMatchObject([{ uuid, error_code: 'outcome_unknown' }]);
  });
});
