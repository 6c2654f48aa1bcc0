import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TestCloud } from './support/cloud.js';
import { moveParts, ProbedRobot } from './support/in-flight.js';

/*
 * The inbox on a robot's disk is lost, an old copy, or another robot's, each time with commands in every state on their
 * way (in-flight.ts) which live long enough to run again. No effect comes about twice, and each command has an outcome.
 */
describe('commands in flight', () => {
  let cloud: TestCloud;
  const robots: ProbedRobot[] = [];
  const folders: string[] = [];
  let made = 0;

  beforeAll(async () => {
    cloud = await TestCloud.start();
  });

  afterEach(async () => {
    await Promise.all(robots.splice(0).map((robot) => robot.stop()));
    await Promise.all(folders.splice(0).map((path) => rm(path, { recursive: true, force: true })));
  });

  afterAll(async () => {
    await cloud?.stop();
  });

  async function start(): Promise<ProbedRobot> {
    made += 1;
    const robot = await ProbedRobot.start(cloud, `rover-${made}`, made * 1_000);
    robots.push(robot);
    return robot;
  }

  async function startInFlight(): Promise<ProbedRobot> {
    const robot = await start();
    await robot.putInFlight();
    return robot;
  }

  /** A folder that goes with the test. */
  async function folder(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'drover-inbox-'));
    folders.push(path);
    return path;
  }

  /** Nothing happened twice, what was told is true, and the robot takes commands. */
  async function holds(robot: ProbedRobot): Promise<Record<string, number>> {
    await robot.note();
    const outcomes = await robot.outcomes();
    const effects = robot.effects();
    expect([...effects].filter(([, count]) => count > 1)).toEqual([]);
    const tally: Record<string, number> = {};
    for (const { state, error_code, effect } of outcomes) {
      const end = error_code ?? state;
      tally[end] = (tally[end] ?? 0) + 1;
      if (state === 'executed') expect([effect, effects.get(effect)]).toEqual([effect, 1]);
      else expect(end).toBe('outcome_unknown');
    }
    expect(outcomes.at(-1)).toMatchObject({ state: 'executed' });
    console.log(`${effects.size} effects, each once; outcomes of ${outcomes.length}: ${JSON.stringify(tally)}`);
    return tally;
  }

  it('run once where the inbox is as the killed agent left it, and those that waited do run', async () => {
    const robot = await start();
    // Longer than a busy machine takes to kill the agent.
    await robot.putInFlight(20_000);
    await robot.comesBack();
    // The eight calls that ran, and the goal, whose server died with the agent; or which ended before, within its two seconds.
    expect([8, 9]).toContain((await holds(robot)).outcome_unknown);
  });

  it('run at most once where the inbox was wiped', async () => {
    const robot = await startInFlight();
    await robot.comesBack(() => robot.wipeInbox());
    await holds(robot);
  });

  it('run at most once where a copy of the inbox is restored after they ran on', async () => {
    const robot = await startInFlight();
    const copy = await robot.copyInbox();
    await robot.landed();
    await robot.comesBack(() => robot.restoreInbox(copy));
    expect(robot.agent.process.text()).toContain('the inbox is a copy');
    expect(await holds(robot)).not.toHaveProperty('outcome_unknown');
  });

  it('run at most once where a copy is restored after they ran on unheard of by the cloud', async () => {
    const robot = await startInFlight();
    const copy = await robot.copyInbox();
    await robot.ranOn();
    // What the agent has written since goes with its connection.
    robot.line.reset();
    await robot.comesBack(() => robot.restoreInbox(copy));
    await holds(robot);
  });

  it('run at most once where an image of the disk is restored that no mark on it tells from the disk', async () => {
    const robot = await startInFlight();
    const copy = await robot.copyInbox();
    await robot.landed();
    await robot.comesBack(() => robot.restoreImage(copy));
    await robot.agent.process.line((line) => /session is opened anew: the inbox was an old copy/.test(line.msg));
    await holds(robot);
  });

  it('run at most once where the copy was made of a stopped agent', async () => {
    const robot = await startInFlight();
    await robot.agent.process.stop();
    const copy = await robot.copyInbox();
    robot.line.mend();
    await robot.agent.restart();
    await robot.outcomes();
    await robot.comesBack(() => robot.restoreImage(copy));
    await holds(robot);
  });

  it('run at most once where the cloud is restored from a backup, which is told how they ended', async () => {
    const robot = await start();
    const call = await robot.call();
    await robot.happened(call);
    robot.line.cut();
    await cloud.online(robot.id, false);
    // In the backup one runs on the robot, and two wait at the cloud.
    const open = [call, await robot.note(), await robot.note()];
    const backup = join(await folder(), 'data');
    await cloud.process.kill9();
    await cp(cloud.dataDir, backup, { recursive: true });
    await cloud.crashAndRestart();
    robot.line.mend();
    for (const { uuid } of open) expect(await cloud.outcome(uuid)).toMatchObject({ state: 'executed' });
    await cloud.process.kill9();
    await rm(cloud.dataDir, { recursive: true });
    await cp(backup, cloud.dataDir, { recursive: true });
    await cloud.crashAndRestart();
    for (const { uuid } of open) expect(await cloud.outcome(uuid)).toMatchObject({ state: 'executed' });
    expect(await holds(robot)).toEqual({ executed: 4 });
    expect(robot.agent.process.text()).not.toContain('opened anew');
  });

  it('run at most once where two agents swap their inboxes', async () => {
    const [one, other] = await Promise.all([startInFlight(), startInFlight()]);
    const aside = await folder();
    await one.comesBack(async () => {
      await other.agent.process.kill9();
      await moveParts(one.agent.dataDir, aside, false);
      await one.wipeInbox();
      await moveParts(other.agent.dataDir, one.agent.dataDir, false);
    });
    await other.comesBack(() => other.restoreInbox(aside));
    await holds(one);
    await holds(other);
  });

  it('run at most once where a clone of the whole robot comes up beside it with the same token', async () => {
    const robot = await startInFlight();
    const dataDir = join(await folder(), 'data');
    await cp(robot.agent.dataDir, dataDir, { recursive: true });
    // The robot itself runs on, unheard of.
    robot.line.forget();
    robot.line.mend();
    const clone = await robot.clone(dataDir);
    await clone.process.line((line) => line.msg === 'connected');
    await robot.ranOn();
    await holds(robot);
    await clone.stop();
  });
});
