import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestAgent } from './support/agent.js';
import type { TestCloud } from './support/cloud.js';
import { counterGoesOn, counterStopped, counterValues, tally } from './support/counter.js';
import { type OnSmallDisk, startOnSmallDisk } from './support/on-small-disk.js';
import { Running } from './support/process.js';
import { describeDisk, type SmallDisk } from './support/small-disk.js';

const TRIGGER = { interface: 'service', name: '/reset_odometry', type: 'std_srvs/srv/Trigger', payload: {} };
const CONTENT = { services: { web: { image: 'nginx' } } };

/** Every route that writes, with a body that it takes. */
const WRITES: readonly [string, string, unknown?][] = [
  ['POST', '/robots', { id: 'rover-2' }],
  ['PATCH', '/robots/rover-1', { name: 'another name' }],
  ['POST', '/robots/rover-1/token'],
  ['POST', '/robots/rover-1/commands', TRIGGER],
  ['PATCH', '/robots/rover-1/vitals/config', { enabled: false }],
  ['PATCH', '/robots/rover-1/logs/config', { enabled: false }],
  ['POST', '/robots/rover-1/streams', { source: '/odom', type: 'nav_msgs/msg/Odometry', hz: 1 }],
  ['PATCH', '/robots/rover-1/streams/%2Fcounter', { enabled: true, hz: 1 }],
  ['PATCH', '/robots/rover-1/streams/%2Fcounter/options', { max_age_s: 1 }],
  ['DELETE', '/robots/rover-1/streams/%2Fcounter'],
  ['POST', '/compose-files', { id: 'file-2', content: CONTENT }],
  ['PATCH', '/compose-files/file-1', { name: 'another name' }],
  ['POST', '/robots/rover-1/compose-file', { id: 'file-1' }],
  ['DELETE', '/compose-files/file-1'],
  ['DELETE', '/robots/rover-1'],
];

const READS = [
  '/robots',
  '/robots/rover-1',
  '/commands',
  '/robots/rover-1/vitals',
  '/robots/rover-1/streams',
  '/robots/rover-1/streams/%2Fcounter/status',
  '/robots/rover-1/data?source=/counter',
  '/robots/rover-1/logs',
  '/compose-files/file-1',
];

describeDisk('a cloud whose disk is full', () => {
  let system: OnSmallDisk;
  let cloud: TestCloud;
  let disk: SmallDisk;
  let agent: TestAgent;

  beforeAll(async () => {
    system = await startOnSmallDisk('cloud');
    ({ cloud, disk, agent } = system);
    await cloud.call('POST', '/compose-files', { id: 'file-1', content: CONTENT });
  });
  afterAll(() => system?.stop());

  it('refuses what writes with 503 and words, answers what reads, and has all data once there is room', async () => {
    const sinceAgent = agent.process.lines.length;
    const sinceCloud = cloud.process.lines.length;
    disk.fill();
    await agent.process.line(({ msg }) => /session ended.*disk is full/.test(msg), sinceAgent);
    const refused = [];
    for (const [method, path, body] of WRITES) {
      const {
        status,
        body: answer,
        headers,
      } = await cloud.call<{ error_code: string; message: string }>(method, path, body);
      refused.push([
        method,
        path,
        status,
        answer.error_code,
        /disk is full/.test(answer.message),
        headers.has('retry-after'),
      ]);
    }
    expect(refused).toEqual(WRITES.map(([method, path]) => [method, path, 503, 'unavailable', true, true]));
    for (const path of READS) expect([path, (await cloud.call('GET', path)).status]).toEqual([path, 200]);
    expect((await cloud.call('GET', '/healthz')).status).toBe(200);
    expect(await cloud.call('GET', '/readyz')).toMatchObject({
      status: 503,
      body: { message: 'the store takes no writes: its disk is full' },
    });
    // Though the store can not be told that it left.
    await cloud.until<{ online: boolean }>('/robots/rover-1', ({ online }) => !online);
    disk.free();
    await cloud.until<{ status?: string }>('/readyz', ({ status }) => status === 'ok');
    await cloud.online('rover-1');
    await counterGoesOn(cloud, 100);
    await counterStopped(cloud);
    const values = tally(await counterValues(cloud));
    const said = cloud.process.lines.slice(sinceCloud).filter(({ level }) => Number(level) >= 40);
    console.log('cloud full', values, `${said.length} lines of the cloud at warn and above`);
    expect(values).toMatchObject({ twice: 0, missing: 0 });
    expect(await cloud.run('rover-1', TRIGGER)).toMatchObject({ state: 'executed' });
    // Two minutes at most, and one line a minute of each message: a handful, whatever was refused meanwhile.
    expect(said.length).toBeLessThanOrEqual(12);
    expect(said.filter((line) => JSON.stringify(line).includes('stack'))).toEqual([]);
  });

  it('at its start waits with words, can be stopped meanwhile, and serves by itself once there is room', async () => {
    const { port } = new URL(cloud.url);
    // Not those sampled while the stream was disabled.
    const before = (await counterValues(cloud)).at(-1) ?? 0;
    await cloud.call('PATCH', '/robots/rover-1/streams/%2Fcounter', { enabled: true, hz: 100 });
    await counterGoesOn(cloud);
    expect(await cloud.process.stop()).toBe(0);
    disk.fill();
    const env = { DROVER_PORT: port, DROVER_DATA_DIR: cloud.dataDir };
    const stopped = new Running('cloud', [], env);
    expect((await stopped.line(({ msg }) => /store can not be opened/.test(msg))).msg).toMatch(
      /disk is full: make room/,
    );
    expect(await stopped.stop()).toBe(0);
    cloud.process = new Running('cloud', [], env);
    await cloud.process.line(({ msg }) => /store can not be opened/.test(msg));
    disk.free();
    await cloud.process.line(({ msg }) => msg === 'listening');
    await cloud.online('rover-1');
    await counterGoesOn(cloud, 100);
    await counterStopped(cloud);
    const values = tally((await counterValues(cloud)).filter((value) => value > before));
    console.log('cloud full at its start', values);
    expect(values).toMatchObject({ twice: 0, missing: 0 });
  });

  it('read-only at its start: refused in one line', async () => {
    expect(await cloud.process.stop()).toBe(0);
    disk.setReadOnly(true);
    const { port } = new URL(cloud.url);
    const env = { DROVER_PORT: port, DROVER_DATA_DIR: cloud.dataDir };
    cloud.process = new Running('cloud', [], env);
    expect(await cloud.process.exited).toBe(1);
    expect(cloud.process.lines.map(({ msg }) => msg)).toEqual([
      expect.stringMatching(/data directory can not be used/),
    ]);
    disk.setReadOnly(false);
    cloud.process = new Running('cloud', [], env);
    await cloud.process.line(({ msg }) => msg === 'listening');
  });
});
