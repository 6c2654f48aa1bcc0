import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InProcessBus } from '../bus/in-process.js';
import { openStore, type Store } from '../db/store.js';
import { type RobotRef, Robots, uidOf } from '../robots/robots.js';
import { admit, type CommandRequest, DELIVERY_MS, type RobotReach, UNTAKEN_MAX, WAITING_MAX } from './admission.js';
import { Commands } from './commands.js';
import { findCommand } from './store.js';

const INBOX = '0194b6b0-3b1a-7cc0-8d7f-000000000001';

const TWIST: CommandRequest = {
  interface: 'topic',
  name: '/cmd_vel',
  type: 'geometry_msgs/msg/Twist',
  payload: {},
  timeoutMs: 10_000,
  ttlMs: 0,
  latched: false,
};

describe('admitting a command', () => {
  const reach: RobotReach = { provisioned: true, online: true, inboxId: INBOX, waiting: 0 };

  it('binds it to the inbox of the session there is, with the delivery time as its life', () => {
    expect(admit({ ttlMs: 0 }, reach)).toEqual({ kind: 'accept', inboxId: INBOX, lifeMs: DELIVERY_MS });
    expect(admit({ ttlMs: 2_000 }, reach)).toEqual({ kind: 'accept', inboxId: INBOX, lifeMs: 2_000 });
  });

  it('ends it at once for a robot that never connected, whatever its ttl', () => {
    const never = { ...reach, provisioned: false, online: false, inboxId: undefined };
    expect(admit({ ttlMs: 60_000 }, never)).toMatchObject({ kind: 'end', errorCode: 'robot_not_provisioned' });
  });

  it('ends it at once for an offline robot unless it may wait', () => {
    const offline = { ...reach, online: false, inboxId: undefined };
    expect(admit({ ttlMs: 0 }, offline)).toMatchObject({ kind: 'end', errorCode: 'robot_not_online' });
    expect(admit({ ttlMs: 60_000 }, offline)).toEqual({ kind: 'accept', inboxId: null, lifeMs: 60_000 });
  });

  it('lets it wait out the delivery time for a robot whose connection broke a moment ago', () => {
    expect(admit({ ttlMs: 0 }, { ...reach, inboxId: undefined })).toMatchObject({ kind: 'accept', inboxId: null });
  });

  it('refuses the one over the bound of those that wait', () => {
    const offline = { ...reach, online: false, inboxId: undefined, waiting: UNTAKEN_MAX, WAITING_MAX };
    expect(admit({ ttlMs: 60_000 }, offline)).toEqual({ kind: 'queue_full' });
  });

  it('refuses one more for a robot that is connected and takes none', () => {
    expect(admit({ ttlMs: 0 }, { ...reach, waiting: UNTAKEN_MAX - 1 })).toMatchObject({ kind: 'accept' });
    expect(admit({ ttlMs: 0 }, { ...reach, waiting: UNTAKEN_MAX })).toEqual({ kind: 'queue_full' });
  });
});

describe('commands in the store', () => {
  let dataDir: string;
  let store: Store;
  let commands: Commands;
  let robot: RobotRef;
  let nowMs: number;
  let liveInbox: string | undefined;

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'drover-commands-'));
    nowMs = Date.UTC(2026, 0, 1);
    liveInbox = undefined;
    store = openStore({ dataDir, nowMs });
    await store.db.insertInto('tenants').values({ key: 1, uuid: uuidv7(), name: 'one', created_at_ms: 0 }).execute();
    const bus = new InProcessBus();
    const robots = new Robots({ store, bus, now: () => nowMs });
    const caller = { tenantKey: 1, tenantUuid: uuidv7(), keyUuid: uuidv7(), scopes: new Set<never>() };
    await robots.create(caller, { id: 'rover-1' });
    robot = await robots.find(1, 'rover-1');
    await robots.sessionStarted(robot.key, '2026-11-21');
    commands = commandsOf(store);
  });

  afterEach(async () => {
    await store.close();
    rmSync(dataDir, { recursive: true });
  });

  function commandsOf(db: Store): Commands {
    const inboxes = { inboxOf: () => liveInbox };
    return new Commands({
      store: db,
      bus: new InProcessBus(),
      inboxes,
      log: pino({ level: 'silent' }),
      now: () => nowMs,
    });
  }

  async function post(request: Partial<CommandRequest> = {}): Promise<string> {
    const made = await store.db.transaction().execute((tx) => commands.create(tx, robot, { ...TWIST, ...request }));
    if (!made) throw new Error('queue full');
    return made.uuid;
  }

  async function endOf(uuid: string) {
    const row = await findCommand(store.db, 1, uuid);
    return row && { state: row.state, error_code: row.error_code };
  }

  const GOAL = { interface: 'action_send_goal', name: '/fibonacci', type: 'test_msgs/action/Fibonacci' } as const;

  it('expire exactly when their life is over, if no robot has seen them', async () => {
    const uuid = await post({ ttlMs: 60_000 });
    nowMs += 59_999;
    await commands.sweep();
    expect(await endOf(uuid)).toEqual({ state: 'created', error_code: null });
    nowMs += 1;
    expect((await commands.deliverable(robot, { id: INBOX }, new Set())).commands).toEqual([]);
    await commands.sweep();
    expect(await endOf(uuid)).toEqual({ state: 'error', error_code: 'expired' });
  });

  it('end in their time though the cloud’s clock was set back by years, before it stopped or while it runs', async () => {
    await commands.start();
    await commands.stop();
    nowMs += 60_000;
    const waits = await post({ ttlMs: 60_000 });
    liveInbox = INBOX;
    const bound = await post();
    nowMs -= 3 * 365 * 24 * 3_600_000;
    await commands.sweep();
    liveInbox = undefined;
    const after = await post({ ttlMs: 3_600_000 });
    expect([await endOf(waits), await endOf(bound)]).toEqual(Array(2).fill({ state: 'created', error_code: null }));
    // Once, and not at each look again.
    nowMs += 59_000;
    await commands.sweep();
    nowMs += 1_000;
    await commands.sweep();
    expect(await endOf(waits)).toEqual({ state: 'error', error_code: 'expired' });
    nowMs += 60_000;
    await commands.sweep();
    expect(await endOf(bound)).toEqual({ state: 'error', error_code: 'outcome_unknown' });
    expect(await endOf(after)).toEqual({ state: 'created', error_code: null });
  });

  it('never end as expired by the cloud once they were bound to an inbox, but as outcome_unknown after all their time', async () => {
    liveInbox = INBOX;
    const uuid = await post();
    nowMs += DELIVERY_MS + 10_000 + 59_999;
    await commands.sweep();
    expect(await endOf(uuid)).toEqual({ state: 'created', error_code: null });
    nowMs += 1;
    await commands.sweep();
    expect(await endOf(uuid)).toEqual({ state: 'error', error_code: 'outcome_unknown' });
  });

  it('take the robot’s own end instead of the cloud’s outcome_unknown, and nothing else instead of it', async () => {
    liveInbox = INBOX;
    const uuid = await post();
    nowMs += 1_000_000;
    await commands.sweep();
    const outcome = {
      kind: 'command_outcome',
      uuid,
      state: 'error',
      error_code: 'outcome_unknown',
      message: 'found half-run after a restart',
      result: null,
      feedback: null,
      finished_robot_ms: nowMs,
    } as const;
    await commands.ended(robot, { id: INBOX }, outcome, nowMs);
    await commands.ended(robot, { id: INBOX }, { ...outcome, state: 'executed', error_code: null }, nowMs);
    expect(await findCommand(store.db, 1, uuid)).toMatchObject({
      error_code: 'outcome_unknown',
      message: 'found half-run after a restart',
      ended_by: 'robot',
    });
  });

  it.each(['expired', 'robot_storage_failed'] as const)(
    'were never sent where the robot ends them as %s',
    async (code) => {
      liveInbox = INBOX;
      const uuid = await post();
      const end = { kind: 'command_outcome', uuid, state: 'error', error_code: code, message: null } as const;
      await commands.ended(
        robot,
        { id: INBOX },
        { ...end, result: null, feedback: null, finished_robot_ms: nowMs },
        nowMs,
      );
      expect(await findCommand(store.db, 1, uuid)).toMatchObject({ error_code: code, sent_at_ms: null });
    },
  );

  it('that were taken are asked for again where the inbox tells its lineage, and can so not be one that forgot them', async () => {
    liveInbox = INBOX;
    const uuid = await post();
    await commands.taken(robot, { id: INBOX }, { kind: 'command_taken', uuid, seq: 1 });
    const due = async (tenure?: string) =>
      (await commands.deliverable(robot, { id: INBOX, tenure }, new Set())).commands.map((command) => command.uuid);
    expect(await due()).toEqual([]);
    expect(await due(uuidv7())).toEqual([uuid]);
  });

  it('cannot be ended by another robot', async () => {
    liveInbox = INBOX;
    const uuid = await post();
    const end = { kind: 'command_outcome', uuid, state: 'executed', error_code: null, message: null } as const;
    await commands.ended(
      { ...robot, key: robot.key + 1 },
      { id: INBOX },
      { ...end, result: null, feedback: null, finished_robot_ms: 1 },
      1,
    );
    expect(await endOf(uuid)).toEqual({ state: 'created', error_code: null });
  });

  it('wait for an offline robot up to the bound, and are delivered in POST order', async () => {
    const uuids: string[] = [];
    for (let count = 0; count < WAITING_MAX; count += 1) uuids.push(await post({ ttlMs: 60_000 }));
    await expect(post({ ttlMs: 60_000 })).rejects.toThrow('queue full');
    const { commands: delivered } = await commands.deliverable(robot, { id: INBOX }, new Set());
    expect(delivered.map((command) => command.uuid)).toEqual(uuids);
  });

  it('are still bound to their inbox after the store was closed and opened again', async () => {
    liveInbox = INBOX;
    const uuid = await post();
    await store.close();
    store = openStore({ dataDir, nowMs });
    commands = commandsOf(store);
    await commands.inboxSeen(robot, { id: uuidv7(), last_seq: 0 });
    expect(await endOf(uuid)).toEqual({ state: 'error', error_code: 'outcome_unknown' });
  });

  it('are not given to the inbox of another robot of the same id', async () => {
    const mine = { id: INBOX, last_seq: 0, robot_id: robot.id };
    const lineage = { id: uuidv7(), version: 1, earlier: [] };
    expect(await commands.inboxSeen(robot, { ...mine, lineage, robot_uid: `${uidOf(robot)}1` })).toBe('stale');
    expect(await commands.inboxSeen(robot, { ...mine, lineage, robot_uid: uidOf(robot) })).toBe('current');
  });

  it('are cancelled at once while they wait, asked of the robot where they are goals, and not otherwise', async () => {
    const waiting = await post({ ttlMs: 60_000 });
    expect(await commands.cancel(1, waiting)).toBe('canceled');
    expect(await endOf(waiting)).toEqual({ state: 'error', error_code: 'canceled' });
    expect(await commands.cancel(1, waiting)).toBe('ended');

    liveInbox = INBOX;
    const goal = await post(GOAL);
    expect(await commands.cancel(1, goal)).toBe('canceled');
    expect((await commands.deliverable(robot, { id: INBOX }, new Set())).cancels).toEqual([goal]);

    const topic = await post();
    expect(await commands.cancel(1, topic)).toBe('not_cancelable');
    expect(await commands.cancel(1, uuidv7())).toBe('unknown');
    expect(await commands.cancel(2, topic)).toBe('unknown');
  });

  it('are told as ended to a cancel that comes as they expire, not as running', async () => {
    const uuid = await post({ ttlMs: 60_000 });
    nowMs += 60_000;
    const [answer] = await Promise.all([commands.cancel(1, uuid), commands.sweep()]);
    const { error_code } = (await endOf(uuid)) ?? {};
    expect([answer, error_code]).toEqual(error_code === 'canceled' ? ['canceled', 'canceled'] : ['ended', 'expired']);
  });

  it('and robots cost no write where a robot comes back as it was: thousands do at once after a restart', async () => {
    const robots = new Robots({ store, bus: new InProcessBus(), now: () => nowMs });
    const comes = async (lastSeq: number) => {
      await robots.sessionStarted(robot.key, '2026-11-21');
      await commands.inboxSeen(robot, { id: INBOX, last_seq: lastSeq });
    };
    const changes = () =>
      store.exclusive((raw) => raw.prepare<[], number>('select total_changes()').pluck().get() ?? -1);
    await comes(5);
    const before = await changes();
    await comes(5);
    expect(await changes()).toBe(before);
    await comes(6);
    expect(await changes()).toBe(before + 1);
  });
});
