import { describe, expect, it } from 'vitest';
import { topicCommand } from '../spool/fixture.js';
import { goal, setUp } from './fixture.js';

/** A goal that runs on a server that counts what it is sent, and an agent that has crashed over it. */
async function crashedOver(order: number, stepMs: number, overrides: { cancel?: boolean } = {}) {
  const first = await setUp();
  await first.peer.serveFibonacci('/fibonacci', { stepMs });
  const command = topicCommand(goal({ payload: { order } }));
  const { sendGoal } = first.graph;
  let sent = 0;
  first.graph.sendGoal = async (request) => {
    sent += 1;
    const handle = await sendGoal.call(first.graph, request);
    // Its cancel does not reach the server any more.
    return { ...handle, cancel: () => new Promise(() => {}) };
  };
  first.runner.receive(command);
  await first.ear.until((heard) => heard.some((message) => message.kind === 'command_feedback'));
  if (overrides.cancel) first.runner.cancel(command.uuid);
  await first.crash();
  const { graph, peer, dataDir } = first;
  return { command, uuid: command.uuid, restart: { dataDir, world: { graph, peer } }, sent: () => sent };
}

const HOUR_MS = 3_600_000;

describe('a goal that runs while the agent restarts', () => {
  it('is followed to its result, with its feedback, and is not sent again', async () => {
    const { command, uuid, restart, sent } = await crashedOver(20, 50);
    const { ear, runner } = await setUp(restart);
    await ear.until((heard) => heard.some((message) => message.kind === 'command_feedback'));
    runner.receive(command);
    expect(ear.kinds(uuid)).not.toContain('command_outcome');
    const outcome = await ear.outcome(uuid);
    expect(outcome).toMatchObject({ state: 'executed', result: { sequence: expect.arrayContaining([6765]) } });
    expect(outcome.feedback).toEqual(outcome.result);
    expect(ear.kinds(uuid)).toContain('command_taken');
    expect(sent()).toBe(1);
  });

  it('is followed without a connection, too', async () => {
    const { uuid, restart } = await crashedOver(8, 50);
    const { inbox } = await setUp({ ...restart, connect: false });
    await expect.poll(() => inbox.find(uuid)?.state).toBe('done');
    expect(inbox.find(uuid)).toMatchObject({ outcome: { state: 'executed' } });
  });

  it('can be cancelled', async () => {
    const { uuid, restart } = await crashedOver(40, 50);
    const { ear, runner } = await setUp(restart);
    runner.cancel(uuid);
    expect(await ear.outcome(uuid)).toMatchObject({ error_code: 'goal_canceled' });
  });

  it('goes on being cancelled where that had begun, though the cloud can not ask again', async () => {
    const { uuid, restart } = await crashedOver(40, 300, { cancel: true });
    const { inbox } = await setUp({ ...restart, connect: false });
    await expect.poll(() => inbox.find(uuid)?.state, { timeout: 5_000 }).toBe('done');
    expect(inbox.find(uuid)).toMatchObject({ outcome: { error_code: 'goal_canceled' } });
  });

  it('has no more time than it was given: it is cancelled on the robot, and a timeout', async () => {
    const { uuid, restart } = await crashedOver(40, 50);
    const { ear } = await setUp({ ...restart, wallNow: () => Date.now() + HOUR_MS });
    const outcome = await ear.outcome(uuid);
    expect(outcome).toMatchObject({ error_code: 'timeout', result: { sequence: expect.any(Array) } });
    expect(outcome.message).toContain('it was cancelled');
  });

  it('that has ended meanwhile is told as it ended, though its time is over', async () => {
    const { uuid, restart } = await crashedOver(4, 50);
    const probe = await setUp({ world: restart.world });
    // A goal of the same server that begins later and takes as long: when it has ended, so has the first.
    await probe.run(goal({ payload: { order: 5 } }));
    await probe.crash();
    const { ear } = await setUp({ ...restart, wallNow: () => Date.now() + HOUR_MS });
    expect(await ear.outcome(uuid)).toMatchObject({ state: 'executed', result: { sequence: [0, 1, 1, 2, 3] } });
  });

  it('whose server has forgotten it is outcome_unknown, and is not sent again', async () => {
    const { uuid, restart, sent } = await crashedOver(40, 50);
    await restart.world.graph.stop();
    const second = await setUp({ dataDir: restart.dataDir });
    await second.peer.serveFibonacci('/fibonacci');
    const outcome = await second.ear.outcome(uuid);
    expect(outcome).toMatchObject({ error_code: 'outcome_unknown', result: null });
    expect(outcome.message).toContain('does not know it');
    expect(sent()).toBe(1);
  });
});
