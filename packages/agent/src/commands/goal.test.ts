import { describe, expect, it } from 'vitest';
import { topicCommand } from '../spool/fixture.js';
import { goal, setUp } from './fixture.js';

describe('a goal', () => {
  it('tells feedback while it runs, and result and last feedback when it has succeeded', async () => {
    const { peer, ear, run } = await setUp();
    await peer.serveFibonacci('/fibonacci', { stepMs: 100 });
    const outcome = await run(goal({ payload: { order: 8 } }));
    expect(outcome).toMatchObject({ state: 'executed', result: { sequence: [0, 1, 1, 2, 3, 5, 8, 13, 21] } });
    expect(outcome.feedback).toEqual(outcome.result);
    const feedback = ear.kinds(outcome.uuid).filter((kind) => kind === 'command_feedback');
    // 7 steps in 0.7 s, at most five a second and the first at once.
    expect(feedback.length).toBeGreaterThanOrEqual(2);
    expect(feedback.length).toBeLessThanOrEqual(5);
  });

  it('runs beside the others once accepted', async () => {
    const { peer, runner, ear } = await setUp();
    await peer.serveFibonacci('/fibonacci', { stepMs: 30 });
    const [slow, quick] = [
      topicCommand(goal({ payload: { order: 30 } })),
      topicCommand(goal({ payload: { order: 2 } })),
    ];
    runner.receive(slow);
    runner.receive(quick);
    await ear.outcome(quick.uuid);
    expect(ear.kinds(slow.uuid)).not.toContain('command_outcome');
    await ear.outcome(slow.uuid);
  });

  it.each([
    ['rejected by the server is goal_rejected', { order: 41 }, 'goal_rejected'],
    ['aborted by the server is goal_aborted', { order: -1 }, 'goal_aborted'],
  ])('%s', async (_, payload, code) => {
    const { peer, run } = await setUp();
    await peer.serveFibonacci('/fibonacci');
    expect(await run(goal({ payload }))).toMatchObject({ state: 'error', error_code: code });
  });

  it('without a server is action_server_not_ready', async () => {
    const { run } = await setUp();
    expect(await run(goal({ name: '/nobody' }))).toMatchObject({ error_code: 'action_server_not_ready' });
  });

  it('that is cancelled while it runs is goal_canceled, with the result so far', async () => {
    const { peer, runner, ear } = await setUp();
    await peer.serveFibonacci('/fibonacci', { stepMs: 20 });
    const command = topicCommand(goal({ payload: { order: 40 } }));
    runner.receive(command);
    await ear.until((heard) => heard.some((message) => message.kind === 'command_feedback'));
    runner.cancel(command.uuid);
    const outcome = await ear.outcome(command.uuid);
    expect(outcome).toMatchObject({ error_code: 'goal_canceled', result: { sequence: expect.any(Array) } });
  });

  it('that is cancelled before its server is there is never sent', async () => {
    const { graph, runner, ear } = await setUp();
    const command = topicCommand(goal({ payload: { order: 40 } }));
    runner.receive(command);
    await ear.until((heard) => heard.some((message) => message.kind === 'command_taken'));
    runner.cancel(command.uuid);
    let goals = 0;
    await graph.peers.node('/server').actionServer('/fibonacci', 'test_msgs/action/Fibonacci', {
      onGoal: () => {
        goals += 1;
        return false;
      },
      execute: () => new Promise(() => {}),
    });
    expect(await ear.outcome(command.uuid)).toMatchObject({ error_code: 'canceled' });
    expect(goals).toBe(0);
  });

  it('that is cancelled before it is accepted is cancelled once it is', async () => {
    const { graph, runner, ear } = await setUp();
    let accept = () => {};
    const asked = new Promise<void>((resolve) => {
      graph.peers.node('/server').actionServer('/fibonacci', 'test_msgs/action/Fibonacci', {
        onGoal: () =>
          new Promise((answer) => {
            accept = () => answer(true);
            resolve();
          }),
        execute: ({ canceled }) =>
          new Promise((end) => {
            const stop = () => end({ status: 'canceled', result: { sequence: [] } });
            if (canceled.aborted) stop();
            canceled.addEventListener('abort', stop);
          }),
      });
    });
    const command = topicCommand(goal({ payload: { order: 40 } }));
    runner.receive(command);
    await asked;
    runner.cancel(command.uuid);
    accept();
    expect(await ear.outcome(command.uuid)).toMatchObject({ error_code: 'goal_canceled' });
  });

  it('that outlives its timeout is cancelled on the robot, and a timeout', async () => {
    const { peer, run } = await setUp();
    await peer.serveFibonacci('/fibonacci', { stepMs: 30 });
    const outcome = await run(goal({ payload: { order: 40 }, timeout_ms: 200 }));
    expect(outcome).toMatchObject({ error_code: 'timeout', result: { sequence: expect.any(Array) } });
    expect(outcome.message).toContain('it was cancelled');
  });
});
