import type { Stream } from '@drover/shared/api/streams';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';

describe('streams', () => {
  let cloud: TestCloud;
  let robotKey: number;
  beforeEach(async () => {
    cloud = await startTestCloud();
    robotKey = (await cloud.robot('rover-1')).ref.key;
  });
  afterEach(() => cloud.stop());

  const odom = { source: '/odom', type: 'nav_msgs/msg/Odometry', hz: 5 };
  const list = async () => (await cloud.get<Stream[]>('/robots/rover-1/streams')).body;

  it('creates a stream that is enabled and has recorded nothing', async () => {
    const made = await cloud.post('/robots/rover-1/streams', odom);
    expect([made.status, Object.keys(made.body)]).toEqual([201, ['message']]);
    expect(await list()).toEqual([
      {
        uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        source: '/odom',
        source_encoded: '%2Fodom',
        type: 'nav_msgs/msg/Odometry',
        hz: 5,
        enabled: true,
        first_recording: null,
        last_recording: null,
        num_recordings: 0,
        created_at: '2026-11-21T12:00:00.000Z',
      },
    ]);
  });

  it('takes the short name of a type and stores it in full', async () => {
    await cloud.post('/robots/rover-1/streams', { ...odom, type: 'nav_msgs/Odometry' });
    expect((await list())[0]?.type).toBe('nav_msgs/msg/Odometry');
  });

  it.each([
    ['source', 'odom'],
    ['source', '~/odom'],
    ['source', '/odom/'],
    ['source', '/od om'],
    ['source', '/1odom'],
    ['source', ''],
    ['source', 5],
    ['type', 'Odometry'],
    ['type', 'std_srvs/srv/SetBool'],
    ['type', 'nav_msgs/msg/Odometry/x'],
    ['type', ''],
    ['hz', 0],
    ['hz', -1],
    ['hz', 1000.1],
    ['hz', '5'],
    ['hz', null],
  ])('refuses %s %j, naming the field', async (field, value) => {
    const answer = await cloud.post('/robots/rover-1/streams', { ...odom, [field]: value });
    expect([answer.status, answer.body.details?.[0]?.path]).toEqual([400, field]);
    expect(await list()).toEqual([]);
  });

  it('refuses a second stream on the same source', async () => {
    await cloud.post('/robots/rover-1/streams', odom);
    const again = await cloud.post('/robots/rover-1/streams', { ...odom, hz: 1 });
    expect([again.status, again.body.error_code]).toEqual([409, 'stream_exists']);
  });

  it.each(['/robots/rover-1/%2Fodom', '/robots/rover-1/streams/%2Fodom', '/robots/rover-1/%252Fodom'])(
    'updates a stream at %s',
    async (path) => {
      await cloud.post('/robots/rover-1/streams', odom);
      const answer = await cloud.patch(path, { enabled: false, hz: 0.5 });
      expect([answer.status, Object.keys(answer.body)]).toEqual([200, ['message']]);
      expect((await list())[0]).toMatchObject({ enabled: false, hz: 0.5 });
    },
  );

  it('refuses an update without both fields, or of a stream that is not there', async () => {
    await cloud.post('/robots/rover-1/streams', odom);
    expect((await cloud.patch('/robots/rover-1/%2Fodom', { enabled: true })).status).toBe(400);
    expect((await cloud.patch('/robots/rover-1/%2Fodom', { hz: 1 })).status).toBe(400);
    for (const path of ['/robots/rover-1/%2Fscan', '/robots/rover-1/streams/%2Fscan', '/robots/rover-1/vitals']) {
      expect((await cloud.patch(path, { enabled: true, hz: 1 })).body.error_code).toBe('stream_not_found');
    }
    const elsewhere = await cloud.patch('/robots/nobody/%2Fodom', { enabled: true, hz: 1 });
    expect(elsewhere.body.error_code).toBe('robot_not_found');
  });

  it('deletes a stream at its own path only', async () => {
    await cloud.post('/robots/rover-1/streams', odom);
    expect((await cloud.delete('/robots/rover-1/%2Fodom')).body.error_code).toBe('not_found');
    expect((await cloud.delete('/robots/rover-1/streams/%2Fodom')).status).toBe(204);
    expect(await list()).toEqual([]);
    const again = await cloud.delete('/robots/rover-1/streams/%2Fodom');
    expect([again.status, again.body.error_code]).toEqual([404, 'stream_not_found']);
  });

  it('is part of the robot’s desired state, whose revision every change raises and announces', async () => {
    const { desired } = cloud.services;
    const announced: number[] = [];
    cloud.bus.subscribe('desired_changed', (event) => announced.push(event.robotKey));
    const before = await desired.forRobot(robotKey);
    expect(before).toMatchObject({
      vitals: { enabled: true, period_s: 5 },
      logs: { enabled: true, min_level: 'info' },
    });
    await cloud.post('/robots/rover-1/streams', odom);
    await cloud.patch('/robots/rover-1/%2Fodom', { enabled: false, hz: 2 });
    await cloud.patch('/robots/rover-1/vitals/config', { enabled: false });
    await cloud.patch('/robots/rover-1/logs/config', { min_level: 'error', enabled: false });
    const after = await desired.forRobot(robotKey);
    expect(after).toEqual({
      kind: 'desired',
      revision: before.revision + 4,
      vitals: { enabled: false, period_s: 5 },
      logs: { enabled: false, min_level: 'error' },
      streams: [
        {
          source: '/odom',
          type: 'nav_msgs/msg/Odometry',
          hz: 2,
          enabled: false,
          max_message_bytes: 8 * 1024 * 1024,
          max_age_s: null,
        },
      ],
      compose: null,
    });
    expect(announced).toEqual([robotKey, robotKey, robotKey, robotKey]);
  });

  it('leaves the revision where a change was refused', async () => {
    await cloud.post('/robots/rover-1/streams', odom);
    const { revision } = await cloud.services.desired.forRobot(robotKey);
    await cloud.post('/robots/rover-1/streams', odom);
    await cloud.patch('/robots/rover-1/%2Fscan', { enabled: true, hz: 1 });
    expect((await cloud.services.desired.forRobot(robotKey)).revision).toBe(revision);
  });
});

describe('vitals and log configuration', () => {
  let cloud: TestCloud;
  beforeEach(async () => {
    cloud = await startTestCloud();
    await cloud.robot('rover-1');
  });
  afterEach(() => cloud.stop());

  it('shows the log configuration with its keys, and changes it', async () => {
    const config = { enabled: true, first_recording: null, last_recording: null, num_recordings: 0 };
    expect((await cloud.get('/robots/rover-1/logs/config')).body).toEqual(config);
    const changed = await cloud.patch('/robots/rover-1/logs/config', { enabled: false });
    expect([changed.status, Object.keys(changed.body)]).toEqual([200, ['message']]);
    expect((await cloud.get('/robots/rover-1/logs/config')).body).toEqual({ ...config, enabled: false });
  });

  it.each([{}, { enabled: 'yes' }, { min_level: 'loud' }, { level: 'info' }, { enabled: null }])(
    'refuses the log configuration %j',
    async (body) => {
      expect((await cloud.patch('/robots/rover-1/logs/config', body)).status).toBe(400);
    },
  );

  it.each([{}, { enabled: 'true' }, { enabled: true, period_s: 1 }])(
    'refuses the vitals configuration %j',
    async (body) => {
      expect((await cloud.patch('/robots/rover-1/vitals/config', body)).status).toBe(400);
    },
  );

  it('confirms the vitals configuration', async () => {
    const answer = await cloud.patch('/robots/rover-1/vitals/config', { enabled: false });
    expect([answer.status, Object.keys(answer.body)]).toEqual([200, ['message']]);
  });
});
