import type { RobotLink } from '@drover/shared/api/link';
import type { StreamStatus } from '@drover/shared/api/streams';
import type { LinkStatus } from '@drover/shared/link/link-status';
import type { StreamReport } from '@drover/shared/link/stream-status';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RobotRef } from '../robots/robots.js';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';

const LINK = '/robots/rover-1/link';

function status(overrides: Partial<LinkStatus['spool']> = {}, drops: LinkStatus['drops'] = []): LinkStatus {
  const spool = { id: 'spool-1', rows: 12, bytes: 900, bytes_max: 1_000_000, oldest_robot_ms: null, ...overrides };
  return { kind: 'link_status', clock: null, spool, drops };
}

describe('a robot’s link', () => {
  let cloud: TestCloud;
  let robot: RobotRef;
  beforeEach(async () => {
    cloud = await startTestCloud();
    robot = (await cloud.robot('rover-1')).ref;
  });
  afterEach(() => cloud.stop());

  const { parse } = Date;
  const link = async () => {
    await cloud.services.links.settled();
    return (await cloud.get<RobotLink>(LINK)).body;
  };
  const at = (time: string) => {
    cloud.clock.nowMs = parse(`2026-11-21T${time}Z`);
    return cloud.clock.nowMs;
  };
  const online = async (time: string, isOnline = true) => {
    const atMs = at(time);
    await cloud.services.robots.setOnline([{ robotKey: robot.key, online: isOnline, atMs }]);
    if (isOnline) cloud.services.links.opened(robot, 3, atMs);
    else cloud.services.links.ended(robot, 'silent', atMs);
  };
  const told = (message: LinkStatus, offsetMs = 0) =>
    cloud.services.links.reported(robot, message, offsetMs, cloud.clock.nowMs);
  const drop = (source: string, rows: number) => ({ source, reason: 'spool_full', rows, bytes: rows * 100 });

  it('is empty, not missing, before the first session', async () => {
    expect(await link()).toEqual({
      online: false,
      connected_since: null,
      disconnected_since: null,
      last_disconnect: null,
      sessions: 0,
      link_version: null,
      clock: null,
      spool: null,
      drops: [],
      missing_rows: 0,
      missing_found_at: null,
      reported_at: null,
    });
  });

  it('tells since when the robot is connected, and of an offline one since when and how its session ended', async () => {
    await online('12:00:00');
    expect(await link()).toMatchObject({
      online: true,
      connected_since: '2026-11-21T12:00:00.000Z',
      disconnected_since: null,
      last_disconnect: null,
      sessions: 1,
      link_version: 3,
    });
    await online('12:10:00', false);
    expect(await link()).toMatchObject({
      online: false,
      connected_since: null,
      disconnected_since: '2026-11-21T12:10:00.000Z',
      last_disconnect: { at: '2026-11-21T12:10:00.000Z', cause: 'silent' },
    });
    await online('12:11:00');
    const again = await link();
    expect(again).toMatchObject({ connected_since: '2026-11-21T12:11:00.000Z', disconnected_since: null, sessions: 2 });
    expect(again.last_disconnect).toMatchObject({ cause: 'silent' });
  });

  it('says of a robot that has just lost its connection, and still counts as online, that it is not connected', async () => {
    await online('12:00:00');
    cloud.services.links.ended(robot, 'reset', at('12:00:30'));
    expect(await link()).toMatchObject({
      online: true,
      connected_since: null,
      disconnected_since: '2026-11-21T12:00:30.000Z',
    });
  });

  it('counts the sessions of a flapping network, also those that came and went within one write', async () => {
    for (let n = 0; n < 5; n += 1) await online(`12:00:0${n}`);
    expect((await link()).sessions).toBe(5);
  });

  it('shows how much waits on the robot, the oldest of it by the corrected clock, and keeps it while offline', async () => {
    await online('12:00:00');
    told(status({ oldest_robot_ms: parse('2026-11-21T10:30:00Z') }), 3_600_000);
    await online('12:00:30', false);
    expect(await link()).toMatchObject({
      online: false,
      spool: { rows: 12, bytes: 900, bytes_max: 1_000_000, oldest: '2026-11-21T11:30:00.000Z' },
      reported_at: '2026-11-21T12:00:00.000Z',
    });
  });

  it('shows whether the robot’s disk takes writes; null where its agent is too old to tell', async () => {
    await online('12:00:00');
    for (const [said, shown] of [
      [{}, null],
      [{ storage: 'failing' }, 'failing'],
      [{ storage: 'ok' }, 'ok'],
    ] as const) {
      told(status(said));
      expect((await link()).spool?.storage).toBe(shown);
    }
  });

  it('shows the clock’s offset with its uncertainty, to the microsecond, and when it was measured', async () => {
    await online('12:00:00');
    cloud.services.links.clockMeasured(robot, { offset_ms: -1234.50049, uncertainty_ms: 8.123456789 }, at('12:00:01'));
    expect((await link()).clock).toEqual({
      offset_ms: -1234.5,
      uncertainty_ms: 8.123,
      measured_at: '2026-11-21T12:00:01.000Z',
    });
  });

  it('adds up what all spools of the robot dropped: one that was set aside takes its counts not with it', async () => {
    await online('12:00:00');
    told(status({}, [drop('/odom', 7), drop('/scan', 1)]));
    await link();
    told(status({ id: 'spool-2' }, [drop('/odom', 2)]));
    const { drops } = await link();
    expect(drops).toEqual([drop('/odom', 9), drop('/scan', 1)]);
  });

  it('never counts down, and counts nothing twice that is told again', async () => {
    await online('12:00:00');
    told(status({}, [drop('/odom', 7)]));
    await link();
    told(status({}, [drop('/odom', 7)]));
    await link();
    told(status({}, [drop('/odom', 5)]));
    expect((await link()).drops).toEqual([drop('/odom', 7)]);
  });

  it('and the status of a stream tell the same drops, whichever of the two was told', async () => {
    await cloud.post('/robots/rover-1/streams', { source: '/odom', type: 'nav_msgs/msg/Odometry', hz: 5 });
    await online('12:00:00');
    told(status({ id: 'spool-1' }, [drop('/odom', 7)]));
    const report: StreamReport = {
      ...{ source: '/odom', type: 'nav_msgs/msg/Odometry', state: 'waiting' as const, message: null, publishers: 0 },
      ...{ receiving_since_robot_ms: null, last_message_robot_ms: null, rate_hz: null },
      drops: [{ reason: 'spool_full', rows: 9, bytes: 900 }],
    };
    cloud.services.streamReports.reported(robot, { streams: [report], spool_id: 'spool-1' }, 0, cloud.clock.nowMs);
    await cloud.services.streamReports.settled();
    const { drops } = (await cloud.get<StreamStatus>('/robots/rover-1/streams/%2Fodom/status')).body;
    expect(drops).toEqual([{ reason: 'spool_full', rows: 9, bytes: 900 }]);
    expect((await link()).drops).toEqual([{ source: '/odom', ...drops[0] }]);
  });

  it('keeps at most 5000 counts of a robot, and those still grow', async () => {
    await online('12:00:00');
    const many = Array.from({ length: 1000 }, (_, n) => drop(`/s${n}`, 1));
    for (let spool = 0; spool < 6; spool += 1) {
      told(status({ id: `spool-${spool}` }, many));
      await link();
    }
    told(status({ id: 'spool-0' }, [drop('/s0', 100)]));
    const { drops } = await link();
    expect(drops).toHaveLength(1000);
    expect(drops.find(({ source }) => source === '/s0')?.rows).toBe(104);
  });

  it('writes the drops of a few spools at once, the newest, however many are told of', async () => {
    await online('12:00:00');
    const named = (n: number) => ({ id: `spool-${n}` });
    for (let n = 0; n < 100; n += 1) told(status(named(n), [drop('/odom', 1)]));
    await link();
    const kept = await cloud.store.db.selectFrom('spool_drops').select('spool_id').execute();
    expect(kept.map(({ spool_id }) => spool_id)).toEqual(['spool-96', 'spool-97', 'spool-98', 'spool-99']);
  });

  it('is shown whatever absurd counts were told', async () => {
    const huge = Number.MAX_SAFE_INTEGER;
    const values = {
      robot_key: robot.key,
      spool_id: '',
      lane: 'live' as const,
      first_seq: 1,
      last_seq: huge,
      found_at_ms: 1,
    };
    const counts = { robot_key: robot.key, spool_id: '', source: '/odom', reason: 'x', rows: huge, bytes: huge };
    const spools = Array.from({ length: 1100 }, (_, n) => ({ spool_id: `spool-${n}` }));
    const { db } = cloud.store;
    await db
      .insertInto('missing_rows')
      .values(spools.map((spool) => ({ ...values, ...spool })))
      .execute();
    await db
      .insertInto('spool_drops')
      .values(spools.map((spool) => ({ ...counts, ...spool })))
      .execute();
    expect(await link()).toMatchObject({ missing_rows: huge, drops: [{ rows: huge, bytes: huge }] });
  });

  it('goes with its robot, and a late word of a deleted one is left out', async () => {
    await online('12:00:00');
    told(status({}, [drop('/odom', 7)]));
    await link();
    await cloud.delete('/robots/rover-1');
    told(status({}, [drop('/scan', 7)]));
    await cloud.services.links.settled();
    await cloud.services.deletion.settled();
    expect(await cloud.store.db.selectFrom('robot_links').selectAll().execute()).toEqual([]);
    expect(await cloud.store.db.selectFrom('spool_drops').selectAll().execute()).toEqual([]);
    expect(await cloud.store.db.selectFrom('robots').selectAll().execute()).toEqual([]);
  });

  it('of a robot that is not there, or another tenant’s, is a 404', async () => {
    const answer = await cloud.get('/robots/nobody/link');
    expect([answer.status, answer.body.error_code]).toEqual([404, 'robot_not_found']);
  });
});
