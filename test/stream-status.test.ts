import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';
import { addStream, statusPath, untilStatus } from './support/streams.js';

describe('why a stream records what it records, through the API, on a simulated robot', () => {
  let cloud: TestCloud;
  let agent: TestAgent;

  beforeAll(async () => {
    cloud = await TestCloud.start();
    agent = await TestAgent.start({ url: cloud.url, token: await cloud.register('rover-1') });
    await cloud.online('rover-1');
  });

  afterAll(async () => {
    expect(await agent?.stop()).toBe(0);
    expect(await cloud?.stop()).toBe(0);
  });

  it.each([
    [
      '/counter',
      'std_msgs/msg/String',
      'type_mismatch',
      /published as std_msgs\/msg\/Int64, not as std_msgs\/msg\/String/,
    ],
    ['/nobody', 'std_msgs/msg/String', 'no_publisher', /nobody .* publishes \/nobody/],
    ['/strange', 'no_such_msgs/msg/Nothing', 'unknown_type', /no type no_such_msgs\/msg\/Nothing/],
  ])('a stream on %s as %s is %s, and says what to do', async (source, type, state, message) => {
    await addStream(cloud, source, type, 1);
    const status = await untilStatus(cloud, source, (now) => now.state === state);
    expect(status).toMatchObject({ source, message: expect.stringMatching(message), publishers: 0, online: true });
    expect(status).toMatchObject({ receiving_since: null, last_message: null, drops: [] });
  });

  it('one that is deleted and created again at once is known again, though nothing has changed on the robot', async () => {
    await cloud.call('DELETE', statusPath('/nobody', 'status').replace('/status', ''));
    await addStream(cloud, '/nobody', 'std_msgs/msg/String', 1);
    await untilStatus(cloud, '/nobody', (now) => now.state === 'no_publisher');
  });

  it('one that receives tells since when, and the rate before sampling', async () => {
    await addStream(cloud, '/scan', 'sensor_msgs/msg/LaserScan', 1);
    const status = await untilStatus(cloud, '/scan', (now) => (now.rate_hz ?? 0) > 5);
    expect(status).toMatchObject({ state: 'receiving', message: null, publishers: 1, max_age_s: null });
    expect(status.rate_hz).toBeLessThan(15);
    expect(Date.parse(status.last_message ?? '')).toBeGreaterThan(Date.parse(status.receiving_since ?? ''));
  });

  it('one on /rosout is told like any other', async () => {
    await addStream(cloud, '/rosout', 'rcl_interfaces/msg/Log', 10);
    await untilStatus(cloud, '/rosout', (now) => now.state === 'receiving');
  });

  it('a bound on its messages drops what is larger, counted, and what is smaller comes again', async () => {
    await addStream(cloud, '/odom', 'nav_msgs/msg/Odometry', 5);
    await untilStatus(cloud, '/odom', (now) => now.state === 'receiving');
    expect((await cloud.call('PATCH', statusPath('/odom', 'options'), { max_message_bytes: 100 })).status).toBe(200);
    const dropping = await untilStatus(cloud, '/odom', (now) => now.drops.length > 0);
    expect(dropping).toMatchObject({ max_message_bytes: 100, drops: [{ reason: 'too_large' }] });
    await cloud.call('PATCH', statusPath('/odom', 'options'), { max_message_bytes: 1_000_000 });
    const [newest] = await cloud.get<{ stamp: string }[]>('/robots/rover-1/data?source=/odom&limit=1');
    await cloud.until<{ stamp: string }[]>('/robots/rover-1/data?source=/odom&limit=1', ([point]) => {
      return (point?.stamp ?? '') > (newest?.stamp ?? '');
    });
  });

  it('one that is disabled says so, and after a restart of the agent all is told again', async () => {
    await cloud.call('PATCH', '/robots/rover-1/%2Fscan', { enabled: false, hz: 1 });
    expect(await cloud.get(statusPath('/scan', 'status'))).toMatchObject({ state: 'disabled' });
    const before = await untilStatus(cloud, '/counter', () => true);
    await agent.crashAndRestart();
    // Else what was told before the crash may be taken for what is told after it.
    await agent.process.line((line) => line.msg === 'connected');
    const after = await untilStatus(cloud, '/counter', (now) => (now.reported_at ?? '') > (before.reported_at ?? ''));
    expect(after.online).toBe(true);
    await untilStatus(cloud, '/counter', (now) => now.state === 'type_mismatch');
    expect(await cloud.get(statusPath('/scan', 'status'))).toMatchObject({ state: 'disabled' });
  });
});
