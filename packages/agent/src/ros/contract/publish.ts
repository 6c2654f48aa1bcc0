import { encodeCdr } from '@drover/shared/ros/cdr';
import { describe, expect, it } from 'vitest';
import { UnknownTypeError } from '../graph.js';
import { type Bench, eventually, INT64, STRING, TWIST, UNKNOWN } from './bench.js';

/** Publishing: nothing lost, nothing changed, in order. */
export function publishContract(bench: Bench): void {
  describe('publish', () => {
    it('delivers a Twist exactly', async () => {
      const topic = bench.fresh('cmd_vel');
      const subscription = await bench.peer.subscribe({ topic, type: TWIST });
      const twist = { linear: { x: 0.1, y: -1e-300, z: 5e-324 }, angular: { x: -0.5, y: 1 / 3, z: 1e300 } };
      expect(await bench.publish(topic, TWIST, twist)).toEqual({ matchedSubscribers: 1 });
      expect(await subscription.next()).toEqual(twist);
    });

    it('delivers 64-bit integers and not-a-number', async () => {
      const integers = bench.fresh('integer');
      const floats = bench.fresh('float');
      const integer = await bench.peer.subscribe({ topic: integers, type: INT64 });
      const float = await bench.peer.subscribe({ topic: floats, type: 'std_msgs/msg/Float64' });
      await bench.publish(integers, INT64, { data: '-9223372036854775808' });
      await bench.publish(integers, INT64, { data: '9007199254740993' });
      await bench.publish(floats, 'std_msgs/msg/Float64', { data: 'NaN' });
      expect(await integer.next()).toEqual({ data: '-9223372036854775808' });
      expect(await integer.next()).toEqual({ data: '9007199254740993' });
      expect(await float.next()).toEqual({ data: 'NaN' });
    });

    it('does not lose the first message of a new publisher', async () => {
      for (let round = 1; round <= 10; round += 1) {
        const topic = bench.fresh('first');
        const subscription = await bench.peer.subscribe({ topic, type: INT64 });
        await bench.publish(topic, INT64, { data: round });
        expect(await subscription.next()).toEqual({ data: round });
      }
    });

    it('does not publish what is not wanted any more when the wait for a subscriber is over', async () => {
      const topic = bench.fresh('unwanted');
      const cdr = encodeCdr(await bench.schemaOf(INT64), { data: 1n });
      const unwanted = new AbortController();
      const request = { topic, type: INT64, cdr, latched: true, matchTimeoutMs: 300, signal: unwanted.signal };
      const publishing = bench.graph.publish(request);
      const reason = new Error('not wanted any more');
      unwanted.abort(reason);
      await expect(publishing).rejects.toBe(reason);
      // A latched one would come now.
      const subscription = await bench.peer.subscribe({ topic, type: INT64, durability: 'transient_local' });
      await bench.publish(topic, INT64, { data: 2 }, { latched: true });
      expect(await subscription.next()).toEqual({ data: 2 });
    });

    it('keeps the order of messages sent at once', async () => {
      const topic = bench.fresh('burst');
      const subscription = await bench.peer.subscribe({ topic, type: INT64 });
      const sent = Array.from({ length: 8 }, (_, index) => ({ data: index }));
      await Promise.all(sent.map((message) => bench.publish(topic, INT64, message)));
      const received: unknown[] = [];
      for (const _ of sent) received.push(await subscription.next());
      expect(received).toEqual(sent);
    });

    it('says that nobody is subscribed, once the wait is over', async () => {
      const schema = await bench.schemaOf(INT64);
      const request = {
        topic: bench.fresh('nobody'),
        type: INT64,
        cdr: encodeCdr(schema, { data: 1n }),
        latched: false,
        matchTimeoutMs: 50,
      };
      expect(await bench.graph.publish(request)).toEqual({ matchedSubscribers: 0 });
      expect(await bench.graph.publish(request)).toEqual({ matchedSubscribers: 0 });
    });

    it('counts every subscriber', async () => {
      const topic = bench.fresh('two');
      const first = await bench.peer.subscribe({ topic, type: INT64 });
      const second = await bench.peer.subscribe({ topic, type: INT64, reliability: 'best_effort' });
      expect(await bench.publish(topic, INT64, { data: 7 })).toEqual({ matchedSubscribers: 2 });
      expect(await first.next()).toEqual({ data: 7 });
      expect(await second.next()).toEqual({ data: 7 });
    });

    it('does not count what only records it: streams, which never wait for it either', async () => {
      const topic = bench.fresh('recorded');
      const { received } = await bench.subscribe(topic, INT64);
      expect(await bench.publish(topic, INT64, { data: 1 })).toEqual({ matchedSubscribers: 0 });
      await eventually(() => received.length > 0);
      const subscription = await bench.peer.subscribe({ topic, type: INT64 });
      await eventually(async () => (await bench.publish(topic, INT64, { data: 2 })).matchedSubscribers === 1);
      expect(await subscription.next()).toEqual({ data: 2 });
    });

    it('waits with the first message for who acts on it, though a stream is there already', async () => {
      const topic = bench.fresh('awaited');
      await bench.subscribe(topic, INT64);
      const publishing = bench.publish(topic, INT64, { data: 1 });
      const subscription = await bench.peer.subscribe({ topic, type: INT64 });
      expect(await publishing).toEqual({ matchedSubscribers: 1 });
      expect(await subscription.next()).toEqual({ data: 1 });
    });

    it('keeps a latched message for who subscribes later', async () => {
      const topic = bench.fresh('latched');
      const early = await bench.peer.subscribe({ topic, type: STRING, durability: 'transient_local' });
      await bench.publish(topic, STRING, { data: 'kept' }, { latched: true });
      expect(await early.next()).toEqual({ data: 'kept' });
      const late = await bench.peer.subscribe({ topic, type: STRING, durability: 'transient_local' });
      expect(await late.next()).toEqual({ data: 'kept' });
    });

    it('keeps nothing of what is not latched', async () => {
      const topic = bench.fresh('unlatched');
      const early = await bench.peer.subscribe({ topic, type: STRING });
      await bench.publish(topic, STRING, { data: 'before' });
      expect(await early.next()).toEqual({ data: 'before' });
      const late = await bench.peer.subscribe({ topic, type: STRING });
      await bench.publish(topic, STRING, { data: 'sync' });
      expect(await early.next()).toEqual({ data: 'sync' });
      // A reader that joined a warm publisher may miss its first message while it matches: send until it hears one.
      await eventually(async () => {
        await bench.publish(topic, STRING, { data: 'after' });
        return late.received.length > 0;
      });
      expect(late.received).not.toContainEqual({ data: 'before' });
    });

    it('refuses an unknown type', async () => {
      const request = { topic: bench.fresh('unknown'), type: UNKNOWN, latched: false, matchTimeoutMs: 50 };
      await expect(bench.graph.publish({ ...request, cdr: Uint8Array.of(0, 1, 0, 0, 0) })).rejects.toBeInstanceOf(
        UnknownTypeError,
      );
    });
  });
}
