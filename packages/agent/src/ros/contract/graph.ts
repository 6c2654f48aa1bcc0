import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { GraphStoppedError } from '../graph.js';
import { type Bench, FIBONACCI, type GraphFixture, INT64, SET_BOOL, TWIST, UNKNOWN } from './bench.js';

/** What the graph tells of itself, and its end. */
export function graphContract(bench: Bench): void {
  describe('describe', () => {
    it('tells a message with all it contains', async () => {
      const definition = await bench.graph.describe(TWIST);
      expect(definition).toMatchObject({ kind: 'msg', type: TWIST, message: { type: TWIST } });
      if (definition.kind !== 'msg') return;
      expect(definition.message.definitions[0]?.definitions.map((field) => field.name)).toEqual(['linear', 'angular']);
      expect(definition.message.text).toContain('MSG: geometry_msgs/Vector3');
    });

    it('tells the two parts of a service', async () => {
      const definition = await bench.graph.describe(SET_BOOL);
      expect(definition).toMatchObject({
        kind: 'srv',
        request: { type: `${SET_BOOL}_Request` },
        response: { type: `${SET_BOOL}_Response` },
      });
    });

    it('tells the three parts of an action', async () => {
      const definition = await bench.graph.describe(FIBONACCI);
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
      await expect(bench.graph.describe(type)).rejects.toMatchObject({ name: 'UnknownTypeError', type });
    });
  });

  describe('the error of an unknown type', () => {
    it.each([
      ['of a name that is nearly right', 'geometry_msgs/msg/Twis', 'geometry_msgs/msg/Twist'],
      ['of a package that is nearly right', 'geometri_msgs/msg/Twist', 'geometry_msgs/msg/Twist'],
      ['in the wrong case', 'std_srvs/srv/Setbool', SET_BOOL],
    ])('%s names the one that was meant', async (_, type, meant) => {
      await expect(bench.graph.describe(type)).rejects.toThrow(`; did you mean ${meant}?`);
    });

    it('names none where none is near', async () => {
      await expect(bench.graph.describe(UNKNOWN)).rejects.toThrow(/Nothing$/);
    });
  });

  describe('topics', () => {
    it('lists topics with their types and ends', async () => {
      const topic = bench.fresh('listed');
      await bench.peer.advertise({ topic, type: INT64 });
      await bench.subscribe(topic, INT64);
      await expect
        .poll(async () => (await bench.graph.topics()).find((info) => info.name === topic), { timeout: 10_000 })
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
      stopping = await bench.makeFixture();
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
}
