import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';
import { COUNTER, counterGoesOn } from './support/counter.js';
import { addStream } from './support/streams.js';
import { describeTraced, type SystemCall, SystemCalls } from './support/system-calls.js';

const add = (a: number) => ({
  interface: 'service',
  name: '/probe/add',
  type: 'example_interfaces/srv/AddTwoInts',
  payload: { a, b: 0 },
});
const isSocket = ({ target }: SystemCall) => target.startsWith('TCP');
const flushes = (calls: readonly SystemCall[], file: string) =>
  calls.filter(({ kind, target }) => kind === 'flush' && target.includes(file)).length;
const written = (calls: readonly SystemCall[], file: string) =>
  calls
    .filter(({ kind, target }) => kind === 'write' && target.includes(file))
    .reduce((sum, { bytes }) => sum + bytes, 0);

/** What left the process, or happened (a write to another file), while a write-ahead log held what was not flushed. */
function tooEarly(calls: readonly SystemCall[], log: string, counts: (call: SystemCall) => boolean): SystemCall[] {
  let dirty = false;
  const early: SystemCall[] = [];
  for (const call of calls) {
    if (call.target.endsWith(log)) dirty = call.kind === 'write';
    else if (dirty && counts(call)) early.push(call);
  }
  return early;
}

describeTraced('what a power cut finds on disk', () => {
  let cloud: TestCloud;
  let agent: TestAgent;
  let dir: string;
  const ofCloud = new SystemCalls();
  const ofAgent = new SystemCalls();

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'drover-probe-'));
    cloud = await TestCloud.start({}, undefined, ofCloud.within);
    const token = await cloud.register('rover-1');
    const env = { DROVER_TEST_PROBE: join(dir, 'probe') };
    agent = await TestAgent.start({ url: cloud.url, token, env, within: ofAgent.within });
    await cloud.online('rover-1');
    await addStream(cloud, COUNTER.source, COUNTER.type, COUNTER.hz);
    await addStream(cloud, '/imu', 'sensor_msgs/msg/Imu', 100);
    await counterGoesOn(cloud);
  });

  afterAll(async () => {
    expect(await agent?.stop()).toBe(0);
    expect(await cloud?.stop()).toBe(0);
    ofAgent.remove();
    ofCloud.remove();
    await rm(dir, { recursive: true, force: true });
  });

  it('on the robot: each row before it leaves, each command before it is acknowledged or has an effect', async () => {
    const since = ofAgent.read().length;
    for (let a = 0; a < 10; a += 1) expect(await cloud.run('rover-1', add(a))).toMatchObject({ state: 'executed' });
    await counterGoesOn(cloud, 50);
    const calls = ofAgent.read().slice(since);
    const effects = calls.filter(({ target, text }) => target.endsWith('probe') && text.includes('service'));
    expect(effects.length).toBe(10);
    // What is told in one turn may leave in one write; each command waits for the outcome of the one before.
    expect(calls.filter(isSocket).length).toBeGreaterThanOrEqual(10);
    expect(flushes(calls, 'spool.db-wal')).toBeGreaterThan(3);
    expect(tooEarly(calls, 'spool.db-wal', isSocket)).toEqual([]);
    expect(tooEarly(calls, 'inbox.db-wal', (call) => isSocket(call) || effects.includes(call))).toEqual([]);
    // Each effect has a flush of its command's own before it.
    let flushed = 0;
    for (const call of calls) {
      if (call.kind === 'flush' && call.target.endsWith('inbox.db-wal')) flushed += 1;
      if (effects.includes(call)) {
        expect(flushed).toBeGreaterThan(0);
        flushed = 0;
      }
    }
    const perCommand = flushes(calls, 'inbox.db') / 10;
    console.log(`flushes of the inbox per command: ${perCommand}`);
    // Taken; ended, with what the cloud acknowledged before.
    expect(perCommand).toBeLessThanOrEqual(2);
  });

  it('on the robot: five flushes a second at 100 points a second', async () => {
    const since = ofAgent.read().length;
    await counterGoesOn(cloud, 500);
    const calls = ofAgent.read().slice(since);
    const seconds = ((calls.at(-1)?.atMs ?? 0) - (calls[0]?.atMs ?? 0)) / 1000;
    const aSecond = flushes(calls, agent.dataDir) / seconds;
    const points = 2 * 500;
    const bytes = written(calls, 'spool.db') / points;
    console.log(
      `${aSecond.toFixed(2)} flushes a second, ${bytes.toFixed(0)} bytes written a point of some 180 bytes, over ${seconds.toFixed(1)} s`,
    );
    expect(aSecond).toBeLessThanOrEqual(5.5);
  });

  it('in the cloud: each batch before its acknowledgement, each command before its 201', async () => {
    const since = ofCloud.read().length;
    for (let a = 20; a < 25; a += 1) await cloud.run('rover-1', add(a));
    await counterGoesOn(cloud, 50);
    const calls = ofCloud.read().slice(since);
    const created = calls.filter(({ text }) => text.includes('HTTP/1.1 201'));
    const acknowledged = calls.filter(({ text }) => text.includes('batch_ack'));
    expect(created.length).toBe(5);
    expect(acknowledged.length).toBeGreaterThan(3);
    expect(tooEarly(calls, 'drover.db-wal', isSocket)).toEqual([]);
    let flushed = 0;
    for (const call of calls) {
      if (call.kind === 'flush' && call.target.endsWith('drover.db-wal')) flushed += 1;
      if (created.includes(call)) {
        expect(flushed).toBeGreaterThan(0);
        flushed = 0;
      }
    }
  });
});
