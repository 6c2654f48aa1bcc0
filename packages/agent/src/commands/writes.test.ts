import { describe, expect, it } from 'vitest';
import { topicCommand } from '../spool/fixture.js';
import { SET_BOOL, setBool, setUp } from './fixture.js';

// The inbox's version counts its durable writes, each of which is a flush of the robot's disk.
describe('the disk is flushed', () => {
  it('twice a command: before it runs and when it has ended; what the cloud acknowledged goes along', async () => {
    const { inbox, peer, run } = await setUp();
    await peer.serveSetBool('/motors');
    await run();
    await run(setBool());
    const before = inbox.version;
    for (let n = 0; n < 10; n += 1) {
      await run();
      await run(setBool());
    }
    expect(inbox.version - before).toBe(40);
  });

  it('once for the acknowledgements of the last ones, when the agent stops', async () => {
    const first = await setUp();
    await first.run();
    await first.run();
    expect(first.inbox.undelivered(10)).toHaveLength(1);
    await first.stop();
    const second = await setUp({ dataDir: first.dataDir });
    expect(second.inbox.undelivered(10)).toEqual([]);
  });

  it('once a command of those that wait for each other: the end of one goes with the start of the next', async () => {
    const { inbox, runner, ear, run } = await setUp();
    await run();
    const before = inbox.version;
    const commands = Array.from({ length: 32 }, () => topicCommand());
    for (const command of commands) runner.receive(command);
    for (const { uuid } of commands) await ear.outcome(uuid);
    // All are taken together, and the last one's end is by itself.
    expect(inbox.version - before).toBe(1 + 31 + 1);
  });

  it('once for eight calls that come in one turn of the event loop, and once for those that end in one', async () => {
    const { graph, inbox, runner, ear } = await setUp();
    const answers: (() => void)[] = [];
    let asked = () => {};
    await graph.peers.node('/server').service('/motors', SET_BOOL, async () => {
      await new Promise<void>((answer) => {
        answers.push(answer);
        asked();
      });
      return { success: true, message: '' };
    });
    const calls = async (count: number) => {
      const commands = Array.from({ length: count }, () => topicCommand(setBool()));
      const all = new Promise<void>((resolve) => {
        asked = () => answers.length === count && resolve();
      });
      for (const command of commands) runner.receive(command);
      await all;
      for (const answer of answers.splice(0)) answer();
      for (const { uuid } of commands) await ear.outcome(uuid);
    };
    // Whose type is known then.
    await calls(1);
    const before = inbox.version;
    await calls(8);
    expect(inbox.version - before).toBe(2);
  });
});

it('a command that comes again as it ends is not answered before its outcome is on disk', async () => {
  const command = topicCommand();
  let again = () => {};
  const { inbox, runner, ear, run } = await setUp({
    wallNow: () => {
      again();
      return Date.now();
    },
  });
  await run();
  const finish = inbox.finish.bind(inbox);
  let stored = false;
  inbox.finish = (outcomes) => {
    finish(outcomes);
    stored = true;
  };
  const told: boolean[] = [];
  const send = ear.send.bind(ear);
  ear.send = (message) => {
    if (message.kind === 'command_outcome') told.push(stored);
    // Taken: the time is asked for once more when it has ended.
    else again = () => runner.receive(command);
    send(message);
  };
  runner.receive(command);
  await ear.outcome(command.uuid);
  expect(told).toEqual([true]);
});
