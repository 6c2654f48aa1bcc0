import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Outcome, TestCloud } from './support/cloud.js';
import { ProbedRobot } from './support/in-flight.js';

interface Odometry {
  payload: { twist: { twist: { linear: { x: number } } } };
}

describe('a command', () => {
  let cloud: TestCloud;
  let robot: ProbedRobot;
  /** Stands still from the beginning, with a call that it has begun: what becomes of that is looked at last. */
  let stopped: ProbedRobot;
  let begun: Awaited<ReturnType<ProbedRobot['call']>>;

  beforeAll(async () => {
    cloud = await TestCloud.start();
    robot = await ProbedRobot.start(cloud, 'rover-1');
    stopped = await ProbedRobot.start(cloud, 'rover-2');
    begun = await stopped.call({ ttl_s: 1, timeout_s: 1 });
    await stopped.happened(begun);
    stopped.agent.process.signal('SIGSTOP');
  });

  afterAll(async () => {
    stopped?.agent.process.signal('SIGCONT');
    await Promise.all([robot?.stop(), stopped?.stop()]);
    await cloud?.stop();
  });

  /** How often it came about. */
  const count = ({ effect }: { effect: string }) => robot.effects().get(effect) ?? 0;

  const drive = (x: number) => ({
    interface: 'topic',
    name: '/cmd_vel',
    type: 'geometry_msgs/msg/Twist',
    payload: { linear: { x } },
  });

  /** The speeds that the robot's odometry has shown so far. */
  async function speeds(): Promise<Set<number>> {
    const points = await cloud.get<Odometry[]>('/robots/rover-1/data?source=/odom&limit=1000');
    return new Set(points.map(({ payload }) => payload.twist.twist.linear.x));
  }

  it('that sat in a stalled link for 20 s does not run', async () => {
    await cloud.call('POST', '/robots/rover-1/streams', { source: '/odom', type: 'nav_msgs/msg/Odometry', hz: 20 });
    await expect.poll(speeds).toEqual(new Set([0]));
    robot.line.stall();
    const twist = await cloud.call<{ uuid: string }>('POST', '/robots/rover-1/commands', drive(0.7));
    const note = await robot.note({ ttl_s: 0 });
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    robot.line.mend();
    expect(await cloud.outcome(twist.body.uuid)).toMatchObject({ error_code: 'expired', sent_at: null });
    expect(await cloud.outcome(note.uuid)).toMatchObject({ error_code: 'expired', sent_at: null });
    // One that comes after it does run, and odometry shows it: what was stalled would have shown before.
    await cloud.online('rover-1');
    expect(await cloud.run('rover-1', drive(0.3))).toMatchObject({ state: 'executed' });
    await expect.poll(speeds).toEqual(new Set([0, 0.3]));
    expect(count(note)).toBe(0);
  });

  it('is sent only when the robot has it', async () => {
    robot.line.stall(['down']);
    const note = await robot.note();
    const at = () => cloud.get<Outcome>(`/commands/${note.uuid}/outcome`);
    // Written to the socket well before.
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await at()).toMatchObject({ state: 'created', sent_at: null });
    robot.line.mend();
    const { sent_at } = await cloud.outcome(note.uuid);
    expect(sent_at).not.toBeNull();
    expect(count(note)).toBe(1);
  });

  it('has its outcome told once, whose acknowledgement was lost and whose agent was killed', async () => {
    const call = await robot.call();
    await robot.happened(call);
    robot.line.stall(['down']);
    const told = await cloud.outcome(call.uuid);
    expect(told).toMatchObject({ state: 'executed' });
    await robot.agent.process.kill9();
    robot.line.reset();
    robot.line.mend();
    await robot.agent.restart();
    await cloud.process.line((line) => line.command === call.uuid && line.stored === false);
    expect(await cloud.outcome(call.uuid)).toEqual(told);
    expect(count(call)).toBe(1);
  });

  it('that runs while the cloud is killed is told when it is back', async () => {
    const call = await robot.call();
    await robot.happened(call);
    await cloud.crashAndRestart();
    expect(await cloud.outcome(call.uuid)).toMatchObject({ state: 'executed' });
    expect(count(call)).toBe(1);
  });

  it.each([2, 10])('with an idempotency-key is one, where the cloud is killed %i ms after its POST', async (ms) => {
    await cloud.online('rover-1');
    const [key, text] = [randomUUID(), `key-${ms}`];
    const first = robot.note({ key, text }).catch(() => null);
    await new Promise((resolve) => setTimeout(resolve, ms));
    await cloud.crashAndRestart();
    const again = await robot.note({ key, text });
    const answered = await first;
    if (answered) expect(again.uuid).toBe(answered.uuid);
    expect(await cloud.outcome(again.uuid)).toMatchObject({ state: 'executed' });
    expect(count(again)).toBe(1);
  });

  it('waits for a robot that is offline, expires there unseen, and runs in the order of the POSTs', async () => {
    await cloud.online('rover-1');
    await robot.agent.process.kill9();
    await cloud.online('rover-1', false);
    const short = await robot.note({ ttl_s: 1 });
    const notes = [await robot.note(), await robot.note()];
    expect(await cloud.outcome(short.uuid)).toMatchObject({ error_code: 'expired' });
    notes.push(await robot.note());
    await cloud.crashAndRestart();
    notes.push(await robot.note(), await robot.note());
    await robot.agent.restart();
    for (const { uuid } of notes) expect(await cloud.outcome(uuid)).toMatchObject({ state: 'executed' });
    const order = [...robot.effects().keys()];
    expect(order.filter((effect) => notes.some((note) => note.effect === effect))).toEqual(notes.map((n) => n.effect));
    expect(count(short)).toBe(0);
  });

  it('whose agent never returns ends by its deadline, and its true outcome takes the place of that end', async () => {
    const given = await cloud.outcome(begun.uuid, 80_000);
    expect(given).toMatchObject({ error_code: 'outcome_unknown', sent_at: expect.any(String) });
    stopped.agent.process.signal('SIGCONT');
    const path = `/commands/${begun.uuid}/outcome`;
    const told = await cloud.until<Outcome>(path, ({ error_code }) => error_code !== 'outcome_unknown');
    // The call takes longer than it may.
    expect(told).toMatchObject({ error_code: 'timeout' });
    expect(stopped.effects().get(begun.effect)).toBe(1);
  });
});
