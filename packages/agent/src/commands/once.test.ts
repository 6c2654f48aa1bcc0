import { describe, expect, it } from 'vitest';
import { freshUuid, silent, topicCommand } from '../spool/fixture.js';
import { openInbox } from '../spool/open.js';
import { Ear, SET_BOOL, setBool, setUp } from './fixture.js';

describe('deadlines', () => {
  it('a command that comes past its deadline is expired, and a resend of it is answered the same', async () => {
    const { peer, runner, ear, run } = await setUp();
    const subscription = await peer.subscribe({ topic: '/cmd_vel', type: 'geometry_msgs/msg/Twist' });
    const late = topicCommand({ deadline_cloud_ms: Date.now() - 10, life_ms: 5_000 });
    runner.receive(late);
    expect(await ear.outcome(late.uuid)).toMatchObject({ error_code: 'expired' });
    runner.receive({ ...late, deadline_cloud_ms: Date.now() + 60_000 });
    await ear.until(() => ear.kinds(late.uuid).length === 2);
    await run({ payload: { linear: { x: 9 } } });
    await subscription.next();
    expect(subscription.received).toMatchObject([{ linear: { x: 9 } }]);
  });

  it('a command that waits past its deadline is expired and never runs', async () => {
    const { graph, runner, ear } = await setUp();
    let calls = 0;
    await graph.peers.node('/server').service('/motors', SET_BOOL, async () => {
      calls += 1;
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      return { success: true, message: '' };
    });
    const running = Array.from({ length: 8 }, () => topicCommand(setBool()));
    const waiting = topicCommand(setBool({ deadline_cloud_ms: Date.now() + 500 }));
    for (const command of [...running, waiting]) runner.receive(command);
    expect(await ear.outcome(waiting.uuid)).toMatchObject({ error_code: 'expired' });
    for (const command of running) await ear.outcome(command.uuid);
    expect(calls).toBe(8);
  });
});

describe('at most once', () => {
  it('a command sent twice is taken once and answered twice', async () => {
    const { peer, runner, ear, run } = await setUp();
    const subscription = await peer.subscribe({ topic: '/cmd_vel', type: 'geometry_msgs/msg/Twist' });
    const command = topicCommand();
    runner.receive(command);
    runner.receive(command);
    await ear.outcome(command.uuid);
    runner.receive(command);
    await ear.until(() => ear.kinds(command.uuid).filter((kind) => kind === 'command_outcome').length === 2);
    await run({ payload: { linear: { x: 7 } } });
    await subscription.next();
    await subscription.next();
    expect(subscription.received).toMatchObject([{ linear: { x: 0.2 } }, { linear: { x: 7 } }]);
  });

  it('an outcome is told at every session until it is acknowledged, also after a restart', async () => {
    const first = await setUp({ acknowledge: false });
    const outcome = await first.run();
    await first.stop();
    const second = await setUp({ dataDir: first.dataDir });
    expect(await second.ear.outcome(outcome.uuid)).toEqual(outcome);
    await second.stop();
    const third = await setUp({ dataDir: first.dataDir });
    expect(third.ear.heard).toEqual([]);
  });

  it('hundreds of outcomes from an outage all arrive once connected', async () => {
    const first = await setUp({ connect: false });
    const commands = Array.from({ length: 300 }, (_, n) => topicCommand({ name: `/n${n}`, timeout_ms: 1 }));
    for (const command of commands) first.runner.receive(command);
    const ear = new Ear((outcome) => queueMicrotask(() => first.runner.outcomeStored(outcome.uuid)));
    while (first.inbox.undelivered(1000).length < 300) await new Promise((resolve) => setTimeout(resolve, 10));
    first.runner.opened(ear);
    for (const command of commands) await ear.outcome(command.uuid);
    expect(ear.heard).toHaveLength(300);
  });

  it('what ran when the agent died is outcome_unknown, what waited runs, in order and not late', async () => {
    const first = await setUp({ acknowledge: false });
    let calls = 0;
    await first.graph.peers.node('/server').service('/motors', SET_BOOL, () => {
      calls += 1;
      return new Promise(() => {});
    });
    const running = Array.from({ length: 8 }, () => topicCommand(setBool()));
    const waiting = [topicCommand(setBool()), topicCommand(setBool({ deadline_cloud_ms: Date.now() + 100 }))];
    for (const command of [...running, ...waiting]) first.runner.receive(command);
    while (calls < 8) await new Promise((resolve) => setTimeout(resolve, 5));
    await first.stop();
    await new Promise((resolve) => setTimeout(resolve, 150));
    const second = await setUp({ dataDir: first.dataDir });
    await second.peer.serveSetBool('/motors');
    for (const command of running) {
      expect(await second.ear.outcome(command.uuid)).toMatchObject({ error_code: 'outcome_unknown' });
    }
    expect(await second.ear.outcome(waiting[0]?.uuid ?? '')).toMatchObject({ state: 'executed' });
    expect(await second.ear.outcome(waiting[1]?.uuid ?? '')).toMatchObject({ error_code: 'expired' });
  });

  it('what waited for the definition of a type runs after a kill: only the one that asked for it may have come about', async () => {
    const first = await setUp({ acknowledge: false });
    let asked = 0;
    first.graph.describe = () => {
      asked += 1;
      return new Promise(() => {});
    };
    const [begun, ...waiting] = Array.from({ length: 8 }, () => topicCommand(setBool()));
    for (const command of begun ? [begun, ...waiting] : []) first.runner.receive(command);
    await expect.poll(() => asked).toBe(1);
    const second = await setUp({ dataDir: first.dataDir });
    await second.peer.serveSetBool('/motors');
    expect(await second.ear.outcome(begun?.uuid ?? '')).toMatchObject({ error_code: 'outcome_unknown' });
    for (const { uuid } of waiting) expect(await second.ear.outcome(uuid)).toMatchObject({ state: 'executed' });
  });

  it('a waiting command that is cancelled ends as canceled and never runs; a running call is left alone', async () => {
    const { graph, runner, ear } = await setUp();
    const release: (() => void)[] = [];
    await graph.peers.node('/server').service('/motors', SET_BOOL, async () => {
      await new Promise<void>((resolve) => release.push(resolve));
      return { success: true, message: '' };
    });
    const running = Array.from({ length: 8 }, () => topicCommand(setBool()));
    const waiting = topicCommand(setBool());
    for (const command of [...running, waiting]) runner.receive(command);
    await ear.until((heard) => heard.length === 9);
    runner.cancel(waiting.uuid);
    expect(await ear.outcome(waiting.uuid)).toMatchObject({ error_code: 'canceled' });
    runner.cancel(running[0]?.uuid ?? '');
    while (release.length < 8) await new Promise((resolve) => setTimeout(resolve, 5));
    for (const each of release) each();
    for (const command of running) expect(await ear.outcome(command.uuid)).toMatchObject({ state: 'executed' });
    expect(release).toHaveLength(8);
  });
});

describe('a disk that refuses', () => {
  it('refuses the command as robot_storage_failed, and it never runs', async () => {
    const { inbox, peer, run } = await setUp();
    const subscription = await peer.subscribe({ topic: '/cmd_vel', type: 'geometry_msgs/msg/Twist' });
    const take = inbox.take.bind(inbox);
    inbox.take = () => {
      throw new RangeError('database or disk is full');
    };
    const outcome = await run();
    expect(outcome).toMatchObject({ error_code: 'robot_storage_failed' });
    expect(outcome.message).toContain('disk is full');
    inbox.take = take;
    await run({ payload: { linear: { x: 3 } } });
    await subscription.next();
    expect(subscription.received).toMatchObject([{ linear: { x: 3 } }]);
  });

  it('after the command ran does not hide its outcome, which is stored when the disk is back', async () => {
    const { inbox, peer, run, stop, dataDir } = await setUp();
    await peer.subscribe({ topic: '/cmd_vel', type: 'geometry_msgs/msg/Twist' });
    const finish = inbox.finish.bind(inbox);
    let refused = 0;
    inbox.finish = () => {
      refused += 1;
      if (refused === 2) inbox.finish = finish;
      throw new RangeError('database or disk is full');
    };
    const outcome = await run();
    expect(outcome).toMatchObject({ state: 'executed' });
    while (inbox.find(outcome.uuid)?.state !== 'done') await new Promise((resolve) => setTimeout(resolve, 20));
    await stop();
    expect((await setUp({ dataDir })).inbox.find(outcome.uuid)).toMatchObject({ outcome });
  });

  it('tells how a command that waits ended only once that is stored: until then a restart would run it', async () => {
    const { graph, inbox, runner, ear } = await setUp();
    await graph.peers.node('/server').service('/motors', SET_BOOL, () => new Promise(() => {}));
    const running = Array.from({ length: 8 }, () => topicCommand(setBool()));
    const waiting = topicCommand(setBool());
    for (const command of [...running, waiting]) runner.receive(command);
    await ear.until((heard) => heard.length === 9);
    const finish = inbox.finish.bind(inbox);
    const toldWhileRefused: string[] = [];
    const stored = new Promise<void>((resolve) => {
      inbox.finish = () => {
        inbox.finish = (outcomes) => {
          toldWhileRefused.push(...ear.kinds(waiting.uuid));
          finish(outcomes);
          resolve();
        };
        throw new RangeError('database or disk is full');
      };
    });
    runner.cancel(waiting.uuid);
    await stored;
    expect(toldWhileRefused).toEqual(['command_taken']);
    expect(await ear.outcome(waiting.uuid)).toMatchObject({ error_code: 'canceled' });
  });

  it('does not keep the agent from starting: what ran before is told as outcome_unknown from memory', async () => {
    const first = await setUp();
    await first.graph.peers.node('/server').service('/motors', SET_BOOL, () => new Promise(() => {}));
    const command = topicCommand(setBool());
    first.runner.receive(command);
    await first.ear.until((heard) => heard.length === 1);
    await first.stop();
    const { dataDir } = first;
    const options = { dataDir, newId: freshUuid, now: Date.now, monotonicNow: () => performance.now(), log: silent };
    const inbox = openInbox(options);
    inbox.finish = () => {
      throw new RangeError('database or disk is full');
    };
    const { ear } = await setUp({ inbox });
    expect(await ear.outcome(command.uuid)).toMatchObject({ error_code: 'outcome_unknown' });
  });
});

describe('a stop', () => {
  it('waits for a command that is still being prepared, so that its outcome is known', async () => {
    const { graph, inbox, peer, runner, ear } = await setUp();
    const subscription = await peer.subscribe({ topic: '/cmd_vel', type: 'geometry_msgs/msg/Twist' });
    const describeType = graph.describe.bind(graph);
    let goOn = () => {};
    graph.describe = async (type) => {
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
      return describeType(type);
    };
    const command = topicCommand();
    runner.receive(command);
    await ear.until((heard) => heard.length === 1);
    const stopped = runner.stop();
    goOn();
    await stopped;
    await subscription.next();
    expect(inbox.find(command.uuid)).toMatchObject({ state: 'done', outcome: { state: 'executed' } });
  });
});
