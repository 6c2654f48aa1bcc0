import type { CommandTaken } from '@drover/shared/link/command';
import type { UpMessage } from '@drover/shared/link/up';
import { beforeEach, describe, expect, it } from 'vitest';
import { freshUuid, topicCommand } from '../spool/fixture.js';
import { setBool, setUp } from './fixture.js';
import { Takes } from './takes.js';

const taken = (uuid: string, version = 1): CommandTaken => ({
  ...{ kind: 'command_taken', uuid, seq: 1, inbox_version: version },
});

const turnOver = () => new Promise((resolve) => setImmediate(resolve));

describe('the word that a command was taken', () => {
  let sent: UpMessage[];
  let takes: Takes;
  const uplink = { send: (message: UpMessage) => void sent.push(message) };

  beforeEach(() => {
    sent = [];
    takes = new Takes();
  });

  it('waits for the end of the turn, then goes by itself', async () => {
    takes.opened(uplink);
    const first = taken(freshUuid());
    takes.add(first);
    expect(sent).toEqual([]);
    await turnOver();
    expect(sent).toEqual([first]);
  });

  it('goes before whatever else is told', async () => {
    const all = takes.opened(uplink);
    const [first, second] = [taken(freshUuid()), taken(freshUuid())];
    takes.add(first);
    takes.add(second);
    const feedback = { kind: 'command_feedback', uuid: first.uuid, feedback: 1 } as const;
    all.send(feedback);
    expect(sent).toEqual([first, second, feedback]);
    await turnOver();
    expect(sent).toHaveLength(3);
  });

  it('is the newest one of a command that was taken and then started', () => {
    takes.opened(uplink);
    const uuid = freshUuid();
    takes.add(taken(uuid, 1));
    takes.add(taken(uuid, 2));
    takes.flush();
    expect(sent).toEqual([taken(uuid, 2)]);
  });

  it('is not told in another session than the one it was for', async () => {
    takes.opened(uplink);
    takes.add(taken(freshUuid()));
    takes.closed();
    takes.opened(uplink);
    await turnOver();
    expect(sent).toEqual([]);
  });
});

describe('a command by itself', () => {
  it('is told as taken and as ended in the turn of the event loop in which it ended, once it has had its effect', async () => {
    const { graph, runner, ear, run } = await setUp();
    await run();
    let turn = 0;
    const turns: [string, number][] = [];
    const send = ear.send.bind(ear);
    ear.send = (message) => {
      turns.push([message.kind, turn]);
      send(message);
    };
    let published = -1;
    graph.publish = async () => {
      expect(turns).toEqual([]);
      published = turn;
      return { matchedSubscribers: 1 };
    };
    const count = () => {
      turn += 1;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    const command = topicCommand();
    runner.receive(command);
    await ear.outcome(command.uuid);
    clearImmediate(counting);
    expect(turns).toEqual([
      ['command_taken', published],
      ['command_outcome', published],
    ]);
  });

  it('is told as taken while it runs, where it takes longer', async () => {
    const { graph, runner, ear } = await setUp();
    graph.call = () => new Promise(() => {});
    const command = topicCommand(setBool());
    runner.receive(command);
    await ear.until((heard) => heard.some(({ kind }) => kind === 'command_taken'));
    expect(ear.kinds(command.uuid)).toEqual(['command_taken']);
  });
});
