import type { Command } from '@drover/shared/link/command';
import { describe, expect, it } from 'vitest';
import type { PublishRequest } from '../ros/graph.js';
import { topicCommand } from '../spool/fixture.js';
import { goal, SET_BOOL, setBool, setUp } from './fixture.js';
import { JOBS_MAX } from './runner.js';

describe('a topic command', () => {
  it('is taken, then published, then told with the number of subscribers', async () => {
    const { peer, ear, run } = await setUp();
    const subscription = await peer.subscribe({ topic: '/cmd_vel', type: 'geometry_msgs/msg/Twist' });
    const outcome = await run({ payload: { linear: { x: 0.25 } } });
    expect(outcome).toMatchObject({ state: 'executed', error_code: null, result: { matched_subscribers: 1 } });
    expect(outcome.message).toBeNull();
    expect(await subscription.next()).toMatchObject({ linear: { x: 0.25, y: 0 } });
    expect(ear.kinds(outcome.uuid)).toEqual(['command_taken', 'command_outcome']);
  });

  it('nobody listens to is executed all the same, and says so', async () => {
    const { run } = await setUp();
    const outcome = await run();
    expect(outcome).toMatchObject({ state: 'executed', result: { matched_subscribers: 0 } });
    expect(outcome.message).toContain('no subscriber at /cmd_vel');
  });

  it('with little time is executed all the same, within that time', async () => {
    const { run } = await setUp();
    expect(await run({ timeout_ms: 100 })).toMatchObject({ state: 'executed', result: { matched_subscribers: 0 } });
  });

  it('that ran out of time is not published after it was told as a timeout', async () => {
    const { graph, run } = await setUp();
    const requests: PublishRequest[] = [];
    graph.publish = (request) => {
      requests.push(request);
      return new Promise(() => {});
    };
    expect(await run({ timeout_ms: 50 })).toMatchObject({ error_code: 'timeout' });
    expect(requests.map(({ signal }) => signal?.aborted)).toEqual([true]);
  });

  it('on a relative and on a private name is resolved as the node /drover_agent would', async () => {
    const { peer, run } = await setUp();
    const relative = await peer.subscribe({ topic: '/chatter', type: 'std_msgs/msg/String' });
    const own = await peer.subscribe({ topic: '/drover_agent/chatter', type: 'std_msgs/msg/String' });
    await run({ name: 'chatter', type: 'std_msgs/msg/String', payload: { data: 'a' } });
    await run({ name: '~/chatter', type: 'std_msgs/msg/String', payload: { data: 'b' } });
    expect([await relative.next(), await own.next()]).toEqual([{ data: 'a' }, { data: 'b' }]);
  });

  it('is refused with words, and not taken, where 2,000 wait or run already', async () => {
    const { graph, runner, ear } = await setUp();
    graph.publish = () => new Promise(() => {});
    const commands = Array.from({ length: JOBS_MAX + 3 }, () => topicCommand({ timeout_ms: 600_000 }));
    for (const command of commands) runner.receive(command);
    for (const { uuid } of commands.slice(JOBS_MAX)) {
      const message = '2000 commands wait or run on this robot already';
      expect(await ear.outcome(uuid)).toMatchObject({ error_code: 'internal_error', message });
      expect(ear.kinds(uuid)).toEqual(['command_outcome']);
    }
    const kept = commands.slice(0, JOBS_MAX).flatMap(({ uuid }) => ear.kinds(uuid));
    expect(kept).toEqual(Array(JOBS_MAX).fill('command_taken'));
  });

  it('keeps its place: one name one after the other, in the order they came', async () => {
    const { peer, runner, ear } = await setUp();
    const subscription = await peer.subscribe({ topic: '/n', type: 'std_msgs/msg/Int64', depth: 100 });
    const commands = Array.from({ length: 50 }, (_, n) =>
      topicCommand({ name: '/n', type: 'std_msgs/msg/Int64', payload: { data: n } }),
    );
    for (const command of commands) runner.receive(command);
    for (const command of commands) await ear.outcome(command.uuid);
    await subscription.next();
    expect(subscription.received).toEqual(commands.map((command) => ({ data: command.payload.data })));
  });
});

describe('a service command', () => {
  it("has the service's response as its result", async () => {
    const { peer, run } = await setUp();
    await peer.serveSetBool('/motors');
    expect(await run(setBool())).toMatchObject({ state: 'executed', result: { success: true, message: 'on' } });
  });

  it('has at most eight calls in flight, and none is lost of a hundred at once', async () => {
    const { graph, runner, ear } = await setUp();
    let inFlight = 0;
    let most = 0;
    await graph.peers.node('/server').service('/motors', SET_BOOL, async ({ data }) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      await new Promise((resolve) => setTimeout(resolve, 2));
      inFlight -= 1;
      return { success: data === true, message: '' };
    });
    const commands = Array.from({ length: 100 }, () => topicCommand(setBool()));
    for (const command of commands) runner.receive(command);
    for (const command of commands) expect(await ear.outcome(command.uuid)).toMatchObject({ state: 'executed' });
    expect(most).toBe(8);
  });

  it('that is not answered in time is a timeout', async () => {
    const { peer, run } = await setUp();
    await peer.serveSetBool('/motors', { delayMs: 60_000 });
    const outcome = await run(setBool({ timeout_ms: 200 }));
    expect(outcome).toMatchObject({ state: 'error', error_code: 'timeout' });
  });

  it('without a server is service_not_ready', async () => {
    const { run } = await setUp();
    const outcome = await run(setBool({ name: '/nobody' }));
    expect(outcome).toMatchObject({ error_code: 'service_not_ready' });
    expect(outcome.message).toContain('/nobody');
  });
});

describe('what is wrong with a command', () => {
  it.each<[string, Partial<Command>, string, RegExp]>([
    ['an unknown type', { type: 'no_such_msgs/msg/Nothing' }, 'invalid_type', /no_such_msgs\/msg\/Nothing/],
    ['a type of another kind', { type: SET_BOOL }, 'invalid_type', /takes a msg type/],
    [
      'a payload that does not fit, with every path',
      { payload: { linear: { x: 'fast' }, angular: { w: 1 } } },
      'invalid_payload',
      /payload\.linear\.x: expected.*payload\.angular\.w/,
    ],
    ['a service payload that does not fit', setBool({ payload: { data: 'yes' } }), 'invalid_payload', /payload\.data/],
    ['a goal that does not fit', goal({ payload: { order: 2 ** 40 } }), 'invalid_payload', /payload\.order/],
  ])('is told by its code and reason: %s', async (_, command, code, reason) => {
    const { run } = await setUp();
    const outcome = await run(command);
    expect(outcome).toMatchObject({ state: 'error', error_code: code, result: null });
    expect(outcome.message).toMatch(reason);
  });

  it('never stops the ones after it', async () => {
    const { peer, graph, run } = await setUp();
    const describeType = graph.describe.bind(graph);
    graph.describe = () => Promise.reject(new TypeError('a defect below'));
    expect(await run()).toMatchObject({ error_code: 'internal_error', message: 'TypeError: a defect below' });
    graph.describe = describeType;
    await peer.subscribe({ topic: '/cmd_vel', type: 'geometry_msgs/msg/Twist' });
    expect(await run()).toMatchObject({ state: 'executed' });
  });

  it('a result over 1 MiB is left out, and said', async () => {
    const { graph, run } = await setUp();
    const node = graph.peers.node('/server');
    await node.service('/motors', SET_BOOL, () => ({ success: true, message: 'x'.repeat(2 ** 21) }));
    const outcome = await run(setBool());
    expect(outcome).toMatchObject({ state: 'executed', result: null });
    expect(outcome.message).toContain('the result is left out');
  });
});
