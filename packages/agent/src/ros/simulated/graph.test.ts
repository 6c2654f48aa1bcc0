import { decodeCdr } from '@drover/shared/ros/cdr';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NotReadyError, RosError, RosTimeoutError, ServerGoneError } from '../graph.js';
import { createSimulatedGraph, type SimulatedGraph } from './graph.js';
import { ManualClock } from './manual-clock.fixture.js';
import type { SimulatedNode } from './node.js';

/** What the contract test can't see: other nodes, faults in them, exact times. */

const INT64 = 'std_msgs/msg/Int64';
const SET_BOOL = 'std_srvs/srv/SetBool';
const FIBONACCI = 'test_msgs/action/Fibonacci';

let clock: ManualClock;
let graph: SimulatedGraph;
let node: SimulatedNode;
let faults: unknown[];

beforeEach(async () => {
  clock = new ManualClock();
  faults = [];
  graph = createSimulatedGraph({ clock, onFault: (_where, error) => faults.push(error) });
  await graph.start();
  node = graph.peers.node('/ns/node');
});
afterEach(() => graph.stop());

async function subscribe(topic: string, options: { drainHz?: number; depth?: number } = {}) {
  const definition = await graph.describe(INT64);
  if (definition.kind !== 'msg') throw new TypeError('no message');
  const received: [number, unknown][] = [];
  const subscription = await graph.subscribe({
    topic,
    type: INT64,
    drainHz: 20,
    depth: 10,
    onMessage: (cdr) => received.push([clock.monotonicMs(), decodeCdr(definition.message, cdr).data]),
    ...options,
  });
  return { received, subscription };
}

describe('subscriptions', () => {
  it('are drained at their rate, all that waits at once, the newest of the depth', async () => {
    const { received } = await subscribe('/t', { drainHz: 20, depth: 2 });
    const publisher = await node.publisher('/t', INT64);
    let count = 0n;
    node.every(10, () => {
      count += 1n;
      publisher.publish({ data: count });
    });
    await clock.advance(115);
    expect(received).toEqual([
      [10, 1n],
      [60, 4n],
      [60, 5n],
      [110, 9n],
      [110, 10n],
    ]);
  });

  it('follow the publishers as they come and go', async () => {
    const { received, subscription } = await subscribe('/t');
    const reliable = await node.publisher('/t', INT64);
    const effort = await graph.peers.node('/other').publisher('/t', INT64, { reliability: 'best_effort' });
    expect(subscription.publisher()).toBeNull();
    reliable.publish({ data: 1n });
    effort.publish({ data: 2n });
    reliable.close();
    expect(subscription.publisher()).toBe('/other');
    effort.publish({ data: 3n });
    await clock.advance(100);
    expect(received.map(([, data]) => data)).toEqual([1n, 2n, 3n]);
  });

  it("are given a publisher's history once, whoever else comes and goes", async () => {
    const latched = { durability: 'transient_local' } as const;
    const publisher = await node.publisher('/t', INT64, latched);
    publisher.publish({ data: 1n });
    const { received } = await subscribe('/t');
    const other = await node.publisher('/t', INT64, latched);
    other.publish({ data: 2n });
    other.close();
    await clock.advance(100);
    expect(received.map(([, data]) => data)).toEqual([1n, 2n]);
  });

  it('receive nothing of another type', async () => {
    const { received } = await subscribe('/t');
    const other = await node.publisher('/t', 'std_msgs/msg/String');
    expect(other.isHeard).toBe(false);
    other.publish({ data: 'text' });
    await clock.advance(100);
    expect(received).toEqual([]);
    expect(await graph.topics()).toEqual([
      { name: '/t', types: [INT64, 'std_msgs/msg/String'], publisherCount: 1, subscriberCount: 1 },
    ]);
  });

  it('that ask for more than is offered are not matched', async () => {
    const effort = await node.publisher('/t', INT64, { reliability: 'best_effort' });
    const received: unknown[] = [];
    await node.subscribe('/t', INT64, (message) => received.push(message));
    await node.subscribe('/t', INT64, (message) => received.push(message), {
      reliability: 'best_effort',
      durability: 'transient_local',
    });
    effort.publish({ data: 1n });
    await clock.advance(10);
    expect(received).toEqual([]);
  });

  it('keep a topic in the list only while someone has it', async () => {
    const { subscription } = await subscribe('/t');
    await subscription.close();
    expect(await graph.topics()).toEqual([]);
    node.destroy();
    await node.publisher('/t', INT64);
    expect(await graph.topics()).toEqual([]);
  });
});

describe('publishing', () => {
  const request = async (matchTimeoutMs: number) => ({
    topic: '/t',
    type: INT64,
    cdr: new Uint8Array([0, 1, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]),
    latched: false,
    matchTimeoutMs,
  });

  it('waits at the first message only, for a subscriber that appears', async () => {
    const published = graph.publish(await request(1000));
    const behind = graph.publish(await request(1000));
    await clock.advance(300);
    const received: unknown[] = [];
    await node.subscribe('/t', INT64, ({ data }) => received.push(data));
    expect(await published).toEqual({ matchedSubscribers: 1 });
    expect(await behind).toEqual({ matchedSubscribers: 1 });
    await clock.advance(1);
    expect(received).toEqual([5n, 5n]);
  });

  it('of one topic keeps its order, whoever waits less', async () => {
    const latched = async (data: number, matchTimeoutMs: number) => {
      const publication = { ...(await request(matchTimeoutMs)), latched: true };
      publication.cdr[4] = data;
      return graph.publish(publication);
    };
    const first = latched(1, 1000);
    const second = latched(2, 0);
    await clock.advance(1000);
    await Promise.all([first, second]);
    const received: unknown[] = [];
    await node.subscribe('/t', INT64, ({ data }) => received.push(data), { durability: 'transient_local' });
    await clock.advance(1);
    expect(received).toEqual([1n, 2n]);
  });

  it('goes out at the deadline without one', async () => {
    let outcome: unknown;
    const published = graph.publish(await request(1000)).then((result) => {
      outcome = result;
    });
    await clock.advance(999);
    expect(outcome).toBeUndefined();
    await clock.advance(1);
    await published;
    expect(outcome).toEqual({ matchedSubscribers: 0 });
  });

  it('is not changed by what its caller does to the bytes afterwards', async () => {
    const received: unknown[] = [];
    await node.subscribe('/t', INT64, ({ data }) => received.push(data));
    const publication = await request(1000);
    await graph.publish(publication);
    publication.cdr.fill(0);
    await clock.advance(1);
    expect(received).toEqual([5n]);
  });

  it('bytes that are no message reach nobody and harm nobody', async () => {
    const received: unknown[] = [];
    await node.subscribe('/t', INT64, ({ data }) => received.push(data));
    await graph.publish({ ...(await request(0)), cdr: new Uint8Array(3) });
    await graph.publish(await request(0));
    await clock.advance(1);
    expect(received).toEqual([5n]);
    expect(faults).toEqual([expect.objectContaining({ name: 'CdrError' })]);
  });
});

describe('services', () => {
  const call = (request = { data: true }) =>
    graph.call({ service: '/s', type: SET_BOOL, request, readyTimeoutMs: 1000, timeoutMs: 2000 });

  it.each([
    [
      'throws',
      () => {
        throw new TypeError('from the handler');
      },
    ],
    ['answers with a wrong type', () => ({ success: 'yes' })],
    ['answers with an unknown field', () => ({ succes: true })],
  ])('a handler that %s never answers, and its node goes on', async (_, handler) => {
    await node.service('/s', SET_BOOL, handler);
    const outcome = expect(call()).rejects.toBeInstanceOf(RosTimeoutError);
    await clock.advance(2000);
    await outcome;
    expect(faults).toHaveLength(1);
    const again = expect(call()).rejects.toBeInstanceOf(RosTimeoutError);
    await clock.advance(2000);
    await again;
  });

  it('a server of another type is none', async () => {
    await node.service('/s', 'std_srvs/srv/Trigger', () => ({ success: true }));
    const outcome = expect(call()).rejects.toBeInstanceOf(NotReadyError);
    await clock.advance(1000);
    await outcome;
  });

  it('a request that is not of the type is refused before anyone sees it', async () => {
    let asked = 0;
    await node.service('/s', SET_BOOL, () => {
      asked += 1;
      return {};
    });
    await expect(call({ data: 5 as unknown as boolean })).rejects.toBeInstanceOf(RosError);
    expect(asked).toBe(0);
  });

  it('absent fields of an answer take their defaults', async () => {
    await node.service('/s', SET_BOOL, () => ({ success: true }));
    expect(await call()).toEqual({ success: true, message: '' });
  });
});

describe('actions', () => {
  const send = () =>
    graph.sendGoal({
      action: '/a',
      type: FIBONACCI,
      goalId: new Uint8Array(16),
      goal: { order: 3 },
      readyTimeoutMs: 1000,
      acceptTimeoutMs: 1000,
      onFeedback: () => {},
    });
  const never = () => new Promise<never>(() => {});

  it('a goal whose server fails is aborted with an empty result', async () => {
    await node.actionServer('/a', FIBONACCI, { execute: () => Promise.reject(new TypeError('from execute')) });
    expect(await (await send()).result).toEqual({ status: 'aborted', result: { sequence: new Int32Array() } });
    expect(faults).toHaveLength(1);
  });

  it('a goal whose server goes away ends with an error', async () => {
    const remove = await node.actionServer('/a', FIBONACCI, { execute: never });
    const { result, cancel } = await send();
    remove();
    await expect(result).rejects.toBeInstanceOf(ServerGoneError);
    expect(await cancel()).toBe(false);
  });

  it('a server that does not say whether it accepts times out', async () => {
    await node.actionServer('/a', FIBONACCI, { onGoal: never, execute: never });
    const outcome = expect(send()).rejects.toBeInstanceOf(RosTimeoutError);
    await clock.advance(1000);
    await outcome;
  });

  it('a server may refuse to cancel', async () => {
    await node.actionServer('/a', FIBONACCI, { onCancel: () => false, execute: never });
    const goal = await send();
    expect(await goal.cancel()).toBe(false);
  });

  it('a wrong feedback throws in the server that sends it', async () => {
    let thrown: unknown;
    await node.actionServer('/a', FIBONACCI, {
      execute: async ({ feedback }) => {
        try {
          feedback({ sequence: [2 ** 40] });
        } catch (error) {
          thrown = error;
        }
        return { status: 'succeeded', result: { sequence: [] } };
      },
    });
    await (await send()).result;
    expect(thrown).toBeInstanceOf(RosError);
  });
});
