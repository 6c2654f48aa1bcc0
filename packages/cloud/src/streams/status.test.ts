import type { StreamReport } from '@drover/shared/link/stream-status';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RobotRef } from '../robots/robots.js';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';

const STATUS = '/robots/rover-1/streams/%2Fodom/status';
const OPTIONS = '/robots/rover-1/streams/%2Fodom/options';
const odom = { source: '/odom', type: 'nav_msgs/msg/Odometry', hz: 5 };

function report(overrides: Partial<StreamReport> = {}): StreamReport {
  return {
    source: '/odom',
    type: 'nav_msgs/msg/Odometry',
    state: 'receiving',
    message: null,
    publishers: 1,
    receiving_since_robot_ms: Date.parse('2026-11-21T11:00:00Z'),
    last_message_robot_ms: Date.parse('2026-11-21T11:59:59.5Z'),
    rate_hz: 20,
    drops: [{ reason: 'too_large', rows: 2, bytes: 300 }],
    ...overrides,
  };
}

describe('a stream’s status', () => {
  let cloud: TestCloud;
  let robot: RobotRef;
  beforeEach(async () => {
    cloud = await startTestCloud();
    robot = (await cloud.robot('rover-1')).ref;
    await cloud.post('/robots/rover-1/streams', odom);
  });
  afterEach(() => cloud.stop());

  const status = async () => (await cloud.get(STATUS)).body;
  const told = async (reports: StreamReport[], offsetMs = 0, spool = 'spool-1') => {
    cloud.services.streamReports.reported(robot, { streams: reports, spool_id: spool }, offsetMs, cloud.clock.nowMs);
    await cloud.services.streamReports.settled();
  };
  const online = () =>
    cloud.services.robots.setOnline([{ robotKey: robot.key, online: true, atMs: cloud.clock.nowMs }]);

  it('is unknown, in words, while the robot has told nothing', async () => {
    expect(await status()).toEqual({
      source: '/odom',
      state: 'unknown',
      message: expect.stringContaining('offline'),
      publishers: null,
      receiving_since: null,
      last_message: null,
      rate_hz: null,
      drops: [],
      max_message_bytes: 8 * 1024 * 1024,
      max_age_s: null,
      reported_at: null,
      online: false,
    });
    await online();
    expect(await status()).toMatchObject({ state: 'unknown', message: expect.not.stringContaining('offline') });
  });

  it('is what the robot told last, its times by the corrected clock', async () => {
    await online();
    await told([report({ state: 'waiting' }), report()], 3_600_000);
    expect(await status()).toMatchObject({
      state: 'receiving',
      message: null,
      publishers: 1,
      receiving_since: '2026-11-21T12:00:00.000Z',
      last_message: '2026-11-21T12:59:59.500Z',
      rate_hz: 20,
      drops: [{ reason: 'too_large', rows: 2, bytes: 300 }],
      reported_at: '2026-11-21T12:00:00.000Z',
      online: true,
    });
  });

  it('says of an offline robot that it is what was told last', async () => {
    await told([report({ state: 'no_publisher', message: 'nobody publishes /odom' })]);
    expect(await status()).toMatchObject({
      state: 'no_publisher',
      message: 'the robot is offline; this is what it told last: nobody publishes /odom',
      online: false,
    });
  });

  it('is disabled as soon as the stream is, and unknown until the robot tells after it is enabled again', async () => {
    await online();
    await told([report()]);
    await cloud.patch('/robots/rover-1/%2Fodom', { enabled: false, hz: 5 });
    expect(await status()).toMatchObject({
      state: 'disabled',
      message: 'the stream is disabled; PATCH it with {"enabled":true,"hz":5}',
    });
    await told([report({ state: 'disabled' })]);
    await cloud.patch('/robots/rover-1/%2Fodom', { enabled: true, hz: 5 });
    expect(await status()).toMatchObject({ state: 'unknown' });
  });

  it('goes with its stream, and a late word of it does not bring it back', async () => {
    await told([report()]);
    await cloud.delete('/robots/rover-1/streams/%2Fodom');
    await told([report()]);
    expect((await cloud.get(STATUS)).body.error_code).toBe('stream_not_found');
    await cloud.post('/robots/rover-1/streams', { ...odom, type: 'std_msgs/msg/String' });
    await told([report()]);
    expect(await status()).toMatchObject({ state: 'unknown', reported_at: null });
  });

  it('goes with its robot', async () => {
    await told([report()]);
    await cloud.delete('/robots/rover-1');
    await cloud.services.deletion.settled();
    expect(await cloud.store.db.selectFrom('stream_status').selectAll().execute()).toEqual([]);
    expect(await cloud.store.db.selectFrom('robots').selectAll().execute()).toEqual([]);
  });

  it('is written for at most 1000 streams of a robot at a time', async () => {
    const many = Array.from({ length: 1500 }, (_, n) => report({ source: `/s${n}` }));
    cloud.services.streamReports.reported(robot, { streams: [], spool_id: 'spool-1' }, 0, 0);
    cloud.services.streamReports.reported(robot, { streams: many, spool_id: 'spool-1' }, 0, 0);
    await told([report()]);
    expect(await status()).toMatchObject({ reported_at: null });
    await told([report()]);
    expect(await status()).toMatchObject({ reported_at: '2026-11-21T12:00:00.000Z' });
  });

  it.each([STATUS, OPTIONS])('%s tells which is not there, robot or stream', async (path) => {
    const call = (at: string) => (at.endsWith('status') ? cloud.get(at) : cloud.patch(at, { max_age_s: 1 }));
    const noStream = await call(path.replace('odom', 'scan'));
    expect([noStream.status, noStream.body.error_code]).toEqual([404, 'stream_not_found']);
    const bare = await call(path.replace('%2F', ''));
    expect(bare.body.message).toContain('a source begins with /, which is %2F in a path');
    const noRobot = await call(path.replace('rover-1', 'nobody'));
    expect([noRobot.status, noRobot.body.error_code]).toEqual([404, 'robot_not_found']);
    expect((await call(path.replace('%2F', '%252F'))).status).toBe(200);
  });
});

describe('a stream’s options', () => {
  let cloud: TestCloud;
  beforeEach(async () => {
    cloud = await startTestCloud();
    await cloud.robot('rover-1');
    await cloud.post('/robots/rover-1/streams', odom);
  });
  afterEach(() => cloud.stop());

  it('are set one by one, shown in its status and told to the robot', async () => {
    const first = await cloud.patch(OPTIONS, { max_age_s: 0.5 });
    expect([first.status, Object.keys(first.body)]).toEqual([200, ['message']]);
    await cloud.patch(OPTIONS, { max_message_bytes: 1000 });
    expect((await cloud.get(STATUS)).body).toMatchObject({ max_age_s: 0.5, max_message_bytes: 1000 });
    const robot = await cloud.services.robots.find((await cloud.services.tenants.findKey('default')) ?? 0, 'rover-1');
    const { streams } = await cloud.services.desired.forRobot(robot.key);
    expect(streams).toMatchObject([{ source: '/odom', max_age_s: 0.5, max_message_bytes: 1000 }]);
    await cloud.patch(OPTIONS, { max_age_s: null });
    expect((await cloud.get(STATUS)).body).toMatchObject({ max_age_s: null, max_message_bytes: 1000 });
  });

  it.each([
    {},
    { max_age_s: 0 },
    { max_age_s: 604_801 },
    { max_age_s: '1' },
    { max_message_bytes: 0 },
    { max_message_bytes: 1.5 },
    { max_message_bytes: null },
    { max_message_bytes: 24 * 1024 * 1024 },
    { max_age_s: 1, hz: 2 },
  ])('refuse %j', async (body) => {
    const answer = await cloud.patch(OPTIONS, body);
    expect([answer.status, answer.body.error_code]).toEqual([400, 'invalid_request']);
    expect((await cloud.get(STATUS)).body).toMatchObject({ max_age_s: null, max_message_bytes: 8 * 1024 * 1024 });
  });
});
