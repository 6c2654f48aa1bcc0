import { randomBytes } from 'node:crypto';
import { decodeCdr, encodeCdr } from '@drover/shared/ros/cdr';
import type { MessageSchema } from '@drover/shared/ros/definitions';
import { fromJson } from '@drover/shared/ros/from-json';
import { toJson } from '@drover/shared/ros/to-json';
import type { RosMessage } from '@drover/shared/ros/values';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  type GoalHandle,
  GoalRejectedError,
  GraphStoppedError,
  type RosGraph,
  type SubscribeRequest,
  UnknownTypeError,
} from './graph.js';
import type { GraphPeer } from './testing/peer.js';

/** A started graph and a peer on it that discover each other. */
export interface GraphFixture {
  readonly graph: RosGraph;
  readonly peer: GraphPeer;
  /** Stops both; called once, also after a test stopped the graph itself. */
  close(): Promise<void>;
}

const TWIST = 'geometry_msgs/msg/Twist';
const INT64 = 'std_msgs/msg/Int64';
const STRING = 'std_msgs/msg/String';
const SET_BOOL = 'std_srvs/srv/SetBool';
const FIBONACCI = 'test_msgs/action/Fibonacci';
const UNKNOWN = 'no_such_msgs/msg/Nothing';

/** What everything above the port relies on, run on every implementation of it. */
export function describeGraphContract(name: string, makeFixture: () => Promise<GraphFixture>): void {
  describe(`the ROS graph port (${name})`, () => {
    let fixture: GraphFixture;
    let graph: RosGraph;
    let peer: GraphPeer;
    let names = 0;

    beforeAll(async () => {
      fixture = await makeFixture();
      ({ graph, peer } = fixture);
    });
    afterAll(() => fixture?.close());

    /** A name no other test uses. */
    const fresh = (word: string) => `/contract/${word}_${++names}`;

    const schemaOf = async (type: string): Promise<MessageSchema> => {
      const definition = await graph.describe(type);
      if (definition.kind !== 'msg') throw new TypeError(`${type} is no message`);
      return definition.message;
    };

    const publish = async (topic: string, type: string, json: unknown, options: { latched?: boolean } = {}) => {
      const schema = await schemaOf(type);
      return graph.publish({
        topic,
        type,
        cdr: encodeCdr(schema, fromJson(schema, json, 'payload')),
        latched: options.latched ?? false,
        matchTimeoutMs: 2000,
      });
    };

    /** Subscribes; what arrives is decoded. */
    const subscribe = async (topic: string, type: string, options: Partial<SubscribeRequest> = {}) => {
      const schema = await schemaOf(type);
      const received: unknown[] = [];
      const subscription = await graph.subscribe({
        topic,
        type,
        drainHz: 50,
        depth: 10,
        onMessage: (cdr) => received.push(toJson(schema, decodeCdr(schema, cdr))),
        ...options,
      });
      onTestFinished(() => subscription.close());
      return { subscription, received };
    };

    describe('describe', () => {
      it('tells a message with all it contains', async () => {
        const definition = await graph.describe(TWIST);
        expect(definition).toMatchObject({ kind: 'msg', type: TWIST, message: { type: TWIST } });
        if (definition.kind !== 'msg') return;
        expect(definition.message.definitions[0]?.definitions.map((field) => field.name)).toEqual([
          'linear',
          'angular',
        ]);
        expect(definition.message.text).toContain('MSG: geometry_msgs/Vector3');
      });

      it('tells the two parts of a service', async () => {
        const definition = await graph.describe(SET_BOOL);
        expect(definition).toMatchObject({
          kind: 'srv',
          request: { type: `${SET_BOOL}_Request` },
          response: { type: `${SET_BOOL}_Response` },
        });
      });

      it('tells the three parts of an action', async () => {
        const definition = await graph.describe(FIBONACCI);
        expect(definition).toMatchObject({
          kind: 'action',
          goal: { type: `${FIBONACCI}_Goal` },
          result: { type: `${FIBONACCI}_Result` },
          feedback: { type: `${FIBONACCI}_Feedback` },
        });
      });

      it.each([
        ['an unknown package', UNKNOWN],
        ['an unknown name in a known package', 'std_msgs/msg/Nothing'],
        ['a message asked for as a service', 'std_msgs/srv/String'],
        ['a name that is no type', '../../etc/passwd'],
      ])('refuses %s', async (_, type) => {
        await expect(graph.describe(type)).rejects.toMatchObject({ name: 'UnknownTypeError', type });
      });
    });

    describe('publish', () => {
      it('delivers a Twist exactly', async () => {
        const topic = fresh('cmd_vel');
        const subscription = await peer.subscribe({ topic, type: TWIST });
        const twist = { linear: { x: 0.1, y: -1e-300, z: 5e-324 }, angular: { x: -0.5, y: 1 / 3, z: 1e300 } };
        expect(await publish(topic, TWIST, twist)).toEqual({ matchedSubscribers: 1 });
        expect(await subscription.next()).toEqual(twist);
      });

      it('delivers 64-bit integers and not-a-number', async () => {
        const integers = fresh('integer');
        const floats = fresh('float');
        const integer = await peer.subscribe({ topic: integers, type: INT64 });
        const float = await peer.subscribe({ topic: floats, type: 'std_msgs/msg/Float64' });
        await publish(integers, INT64, { data: '-9223372036854775808' });
        await publish(integers, INT64, { data: '9007199254740993' });
        await publish(floats, 'std_msgs/msg/Float64', { data: 'NaN' });
        expect(await integer.next()).toEqual({ data: '-9223372036854775808' });
        expect(await integer.next()).toEqual({ data: '9007199254740993' });
        expect(await float.next()).toEqual({ data: 'NaN' });
      });

      it('does not lose the first message of a new publisher', async () => {
        for (let round = 1; round <= 10; round += 1) {
          const topic = fresh('first');
          const subscription = await peer.subscribe({ topic, type: INT64 });
          await publish(topic, INT64, { data: round });
          expect(await subscription.next()).toEqual({ data: round });
        }
      });

      it('keeps the order of messages sent at once', async () => {
        const topic = fresh('burst');
        const subscription = await peer.subscribe({ topic, type: INT64 });
        const sent = Array.from({ length: 8 }, (_, index) => ({ data: index }));
        await Promise.all(sent.map((message) => publish(topic, INT64, message)));
        const received: unknown[] = [];
        for (const _ of sent) received.push(await subscription.next());
        expect(received).toEqual(sent);
      });

      it('says that nobody is subscribed, once the wait is over', async () => {
        const schema = await schemaOf(INT64);
        const request = {
          topic: fresh('nobody'),
          type: INT64,
          cdr: encodeCdr(schema, { data: 1n }),
          latched: false,
          matchTimeoutMs: 50,
        };
        expect(await graph.publish(request)).toEqual({ matchedSubscribers: 0 });
        expect(await graph.publish(request)).toEqual({ matchedSubscribers: 0 });
      });

      it('counts every subscriber', async () => {
        const topic = fresh('two');
        const first = await peer.subscribe({ topic, type: INT64 });
        const second = await peer.subscribe({ topic, type: INT64, reliability: 'best_effort' });
        expect(await publish(topic, INT64, { data: 7 })).toEqual({ matchedSubscribers: 2 });
        expect(await first.next()).toEqual({ data: 7 });
        expect(await second.next()).toEqual({ data: 7 });
      });

      it('keeps a latched message for who subscribes later', async () => {
        const topic = fresh('latched');
        const early = await peer.subscribe({ topic, type: STRING, durability: 'transient_local' });
        await publish(topic, STRING, { data: 'kept' }, { latched: true });
        expect(await early.next()).toEqual({ data: 'kept' });
        const late = await peer.subscribe({ topic, type: STRING, durability: 'transient_local' });
        expect(await late.next()).toEqual({ data: 'kept' });
      });

      it('keeps nothing of what is not latched', async () => {
        const topic = fresh('unlatched');
        const early = await peer.subscribe({ topic, type: STRING });
        await publish(topic, STRING, { data: 'before' });
        expect(await early.next()).toEqual({ data: 'before' });
        const late = await peer.subscribe({ topic, type: STRING });
        await publish(topic, STRING, { data: 'sync' });
        expect(await early.next()).toEqual({ data: 'sync' });
        // A reader that joined a warm publisher may miss its first message while it matches: send until it hears one.
        await eventually(async () => {
          await publish(topic, STRING, { data: 'after' });
          return late.received.length > 0;
        });
        expect(late.received).not.toContainEqual({ data: 'before' });
      });

      it('refuses an unknown type', async () => {
        const request = { topic: fresh('unknown'), type: UNKNOWN, latched: false, matchTimeoutMs: 50 };
        await expect(graph.publish({ ...request, cdr: Uint8Array.of(0, 1, 0, 0, 0) })).rejects.toBeInstanceOf(
          UnknownTypeError,
        );
      });
    });

    describe('call', () => {
      const call = (service: string, data: boolean, options: object = {}) =>
        graph.call({
          service,
          type: SET_BOOL,
          request: { data },
          readyTimeoutMs: 5000,
          timeoutMs: 5000,
          ...options,
        });

      it('gives the answer', async () => {
        const service = fresh('enable');
        await peer.serveSetBool(service);
        expect(await call(service, true)).toEqual({ success: true, message: 'on' });
        expect(await call(service, false)).toEqual({ success: false, message: 'off' });
      });

      it('gives each of several calls its own answer', async () => {
        const service = fresh('parallel');
        await peer.serveSetBool(service, { delayMs: 5 });
        const asked = [true, false, false, true, true, false, true, false];
        const answers = await Promise.all(asked.map((data) => call(service, data)));
        expect(answers.map((answer) => answer.success)).toEqual(asked);
      });

      it('waits for a server that comes up late', async () => {
        const service = fresh('late');
        const answer = call(service, true);
        await peer.serveSetBool(service);
        expect(await answer).toEqual({ success: true, message: 'on' });
      });

      it('says that no server is there', async () => {
        const service = fresh('nowhere');
        await expect(call(service, true, { readyTimeoutMs: 100 })).rejects.toMatchObject({
          name: 'NotReadyError',
          server: 'service',
          rosName: service,
          waitedMs: 100,
        });
      });

      it('says that a server did not answer in time, and goes on', async () => {
        const service = fresh('slow');
        await peer.serveSetBool(service, { delayMs: 300 });
        await expect(call(service, true, { timeoutMs: 50 })).rejects.toMatchObject({
          name: 'RosTimeoutError',
          rosName: service,
          waitedMs: 50,
        });
        expect(await call(service, false)).toEqual({ success: false, message: 'off' });
      });

      it('gives up when told to, whether it waits for the server or for its answer', async () => {
        const service = fresh('aborted');
        const reason = new Error('not wanted any more');
        const waiting = new AbortController();
        const noServer = call(service, true, { signal: waiting.signal });
        waiting.abort(reason);
        await expect(noServer).rejects.toBe(reason);

        await peer.serveSetBool(service, { delayMs: 500 });
        await expect(call(service, true, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
        const asked = new AbortController();
        const noAnswer = call(service, true, { signal: asked.signal });
        setTimeout(() => asked.abort(reason), 100);
        await expect(noAnswer).rejects.toBe(reason);
      });

      it('refuses an unknown type', async () => {
        await expect(call(fresh('unknown'), true, { type: 'no_such_srvs/srv/Nothing' })).rejects.toBeInstanceOf(
          UnknownTypeError,
        );
      });
    });

    describe('goals', () => {
      let action: string;
      beforeAll(async () => {
        action = fresh('fibonacci');
        await peer.serveFibonacci(action);
      });

      const send = (order: number, options: object = {}): Promise<GoalHandle> =>
        graph.sendGoal({
          action,
          type: FIBONACCI,
          goalId: randomBytes(16),
          goal: { order },
          readyTimeoutMs: 5000,
          acceptTimeoutMs: 5000,
          onFeedback: () => {},
          ...options,
        });

      it('gives feedback and the result', async () => {
        const feedback: RosMessage[] = [];
        const goal = await send(4, { onFeedback: (message: RosMessage) => feedback.push(message) });
        expect(await goal.result).toEqual({ status: 'succeeded', result: { sequence: Int32Array.of(0, 1, 1, 2, 3) } });
        expect(feedback.at(-1)).toEqual({ sequence: Int32Array.of(0, 1, 1, 2, 3) });
        expect(feedback.length).toBeGreaterThan(1);
      });

      it('gives each of two goals its own feedback and result', async () => {
        const seen: number[][] = [[], []];
        const lengthOf = (message: RosMessage) => (message.sequence as Int32Array).length;
        const goals = await Promise.all(
          [3, 6].map((order, index) =>
            send(order, { onFeedback: (message: RosMessage) => seen[index]?.push(lengthOf(message)) }),
          ),
        );
        const results = await Promise.all(goals.map((goal) => goal.result));
        expect(results.map(({ result }) => lengthOf(result))).toEqual([4, 7]);
        expect(seen.map((lengths) => Math.max(...lengths))).toEqual([4, 7]);
      });

      it('says that the server rejected the goal', async () => {
        await expect(send(41)).rejects.toBeInstanceOf(GoalRejectedError);
      });

      it('says that the server aborted the goal', async () => {
        const goal = await send(-1);
        expect(await goal.result).toMatchObject({ status: 'aborted' });
      });

      it('cancels a goal', async () => {
        const slow = fresh('slow_fibonacci');
        await peer.serveFibonacci(slow, { stepMs: 100 });
        const goal = await new Promise<GoalHandle>((resolve, reject) => {
          const sent = send(39, { action: slow, onFeedback: () => sent.then(resolve) });
          sent.catch(reject);
        });
        expect(await goal.cancel()).toBe(true);
        expect(await goal.result).toMatchObject({ status: 'canceled' });
      });

      it('does not cancel a goal that has ended', async () => {
        const goal = await send(2);
        await goal.result;
        expect(await goal.cancel()).toBe(false);
      });

      it('says that no server is there', async () => {
        const nowhere = fresh('nowhere');
        await expect(send(3, { action: nowhere, readyTimeoutMs: 100 })).rejects.toMatchObject({
          name: 'NotReadyError',
          server: 'action',
          rosName: nowhere,
          waitedMs: 100,
        });
      });

      it('outlives a feedback callback that throws', async () => {
        const goal = await send(3, {
          onFeedback: () => {
            throw new Error('from the callback');
          },
        });
        expect(await goal.result).toMatchObject({ status: 'succeeded' });
      });

      it('refuses an unknown type', async () => {
        await expect(send(3, { type: 'no_such_msgs/action/Nothing' })).rejects.toBeInstanceOf(UnknownTypeError);
      });
    });

    describe('subscribe', () => {
      const QOS = [
        { reliability: 'reliable', durability: 'volatile' },
        { reliability: 'best_effort', durability: 'volatile' },
        { reliability: 'reliable', durability: 'transient_local' },
      ] as const;

      it.each(QOS)('receives from a $reliability, $durability publisher that was there before', async (qos) => {
        const topic = fresh('publisher_first');
        const publisher = await peer.advertise({ topic, type: INT64, ...qos });
        const { received } = await subscribe(topic, INT64);
        await publisher.matched();
        for (let data = 1; data <= 5; data += 1) await publisher.publish({ data });
        await eventually(() => received.length >= 5);
        expect(received).toEqual([1, 2, 3, 4, 5].map((data) => ({ data })));
      });

      it.each(QOS)('receives from a $reliability, $durability publisher that comes later', async (qos) => {
        const topic = fresh('subscription_first');
        const { received } = await subscribe(topic, INT64);
        const publisher = await peer.advertise({ topic, type: INT64, ...qos });
        await publisher.matched();
        await publisher.publish({ data: 1 });
        await eventually(async () => {
          await publisher.publish({ data: 2 });
          return received.some((message) => JSON.stringify(message) === '{"data":2}');
        });
        if (qos.durability === 'transient_local') expect(received[0]).toEqual({ data: 1 });
      });

      it('receives once what was latched before', async () => {
        const topic = fresh('history');
        const publisher = await peer.advertise({ topic, type: STRING, durability: 'transient_local', depth: 1 });
        await publisher.publish({ data: 'latched' });
        const { received } = await subscribe(topic, STRING);
        await eventually(() => received.length > 0);
        await publisher.publish({ data: 'next' });
        await eventually(() => received.length > 1);
        expect(received).toEqual([{ data: 'latched' }, { data: 'next' }]);
      });

      it('leaves the history out when told to', async () => {
        const topic = fresh('no_history');
        const publisher = await peer.advertise({ topic, type: STRING, durability: 'transient_local', depth: 10 });
        await publisher.publish({ data: 'old' });
        const { received } = await subscribe(topic, STRING, { ignoreHistory: true });
        await publisher.matched();
        await publisher.publish({ data: 'new' });
        await eventually(() => received.length > 0);
        expect(received).toEqual([{ data: 'new' }]);
      });

      it('keeps the newest messages between two drains', async () => {
        const topic = fresh('depth');
        const publisher = await peer.advertise({ topic, type: INT64, depth: 50 });
        const { received } = await subscribe(topic, INT64, { drainHz: 1, depth: 3 });
        await publisher.matched();
        for (let data = 1; data <= 40; data += 1) await publisher.publish({ data });
        await eventually(() => received.some((message) => JSON.stringify(message) === '{"data":40}'));
        const numbers = received.map((message) => (message as { data: number }).data);
        expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
        // A drain may fall into the burst; one more, of three, comes after it.
        expect(numbers.slice(-3)).toEqual([38, 39, 40]);
        expect(numbers.length).toBeLessThan(40);
      });

      it('names the only publishing node, and none where there is none', async () => {
        const topic = fresh('publisher');
        const { subscription } = await subscribe(topic, INT64);
        expect(subscription.publisher()).toBeNull();
        await peer.advertise({ topic, type: INT64 });
        await eventually(() => subscription.publisher() === peer.nodeName);
      });

      it('hands a message over although an earlier callback threw', async () => {
        const topic = fresh('throws');
        const publisher = await peer.advertise({ topic, type: INT64 });
        let calls = 0;
        await subscribe(topic, INT64, {
          onMessage: () => {
            calls += 1;
            throw new Error('from the callback');
          },
        });
        await publisher.matched();
        await publisher.publish({ data: 1 });
        await publisher.publish({ data: 2 });
        await eventually(() => calls === 2);
      });

      it('receives nothing more once closed', async () => {
        const topic = fresh('closed');
        const publisher = await peer.advertise({ topic, type: INT64 });
        const closing = await subscribe(topic, INT64);
        const staying = await subscribe(topic, INT64);
        await publisher.matched(2);
        await closing.subscription.close();
        await closing.subscription.close();
        await publisher.publish({ data: 1 });
        await eventually(() => staying.received.length === 1);
        expect(closing.received).toEqual([]);
      });

      it('refuses an unknown type', async () => {
        await expect(
          graph.subscribe({ topic: fresh('unknown'), type: UNKNOWN, drainHz: 20, depth: 5, onMessage: () => {} }),
        ).rejects.toBeInstanceOf(UnknownTypeError);
      });
    });

    describe('topics', () => {
      it('lists topics with their types and ends', async () => {
        const topic = fresh('listed');
        await peer.advertise({ topic, type: INT64 });
        await subscribe(topic, INT64);
        await expect
          .poll(async () => (await graph.topics()).find((info) => info.name === topic), { timeout: 10_000 })
          .toEqual({ name: topic, types: [INT64], publisherCount: 1, subscriberCount: 1 });
      });
    });

    describe('stop', () => {
      let stopping: GraphFixture | undefined;
      afterEach(async () => {
        await stopping?.close();
        stopping = undefined;
      });

      it('rejects what is pending and whatever comes after', async () => {
        stopping = await makeFixture();
        const { graph: stopped, peer: other } = stopping;
        await other.serveSetBool('/stopping/service', { delayMs: 60_000 });
        await other.serveFibonacci('/stopping/action', { stepMs: 5000 });
        const received: unknown[] = [];
        await stopped.subscribe({
          topic: '/stopping/topic',
          type: INT64,
          drainHz: 50,
          depth: 10,
          onMessage: (cdr) => received.push(cdr),
        });
        const call = { type: SET_BOOL, request: { data: true }, readyTimeoutMs: 60_000, timeoutMs: 60_000 };
        const publication = { type: INT64, cdr: new Uint8Array(12), latched: false, matchTimeoutMs: 60_000 };
        const goal = await stopped.sendGoal({
          action: '/stopping/action',
          type: FIBONACCI,
          goalId: randomBytes(16),
          goal: { order: 30 },
          readyTimeoutMs: 5000,
          acceptTimeoutMs: 5000,
          onFeedback: () => {},
        });
        const pending = [
          stopped.call({ ...call, service: '/stopping/service' }),
          stopped.call({ ...call, service: '/stopping/nowhere' }),
          stopped.publish({ ...publication, topic: '/stopping/nobody' }),
          goal.result,
        ];
        const outcomes = Promise.allSettled(pending);
        await stopped.stop();
        await stopped.stop();
        for (const outcome of await outcomes) {
          expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'GraphStoppedError' } });
        }
        await expect(stopped.call({ ...call, service: '/x' })).rejects.toBeInstanceOf(GraphStoppedError);
        await expect(stopped.publish({ ...publication, topic: '/x' })).rejects.toBeInstanceOf(GraphStoppedError);
        await expect(stopped.topics()).rejects.toBeInstanceOf(GraphStoppedError);
        expect(received).toEqual([]);
      });
    });
  });
}

/** Waits for something to become true, for at most 10 s. */
async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(condition, { timeout: 10_000, interval: 20 }).toBe(true);
}
