import { describe, expect, it } from 'vitest';
import { UnknownTypeError } from '../graph.js';
import { type Bench, eventually, INT64, STRING, UNKNOWN } from './bench.js';

/** Subscribing, whatever the publishers offer and whoever comes first. */
export function subscribeContract(bench: Bench): void {
  describe('subscribe', () => {
    const QOS = [
      { reliability: 'reliable', durability: 'volatile' },
      { reliability: 'best_effort', durability: 'volatile' },
      { reliability: 'reliable', durability: 'transient_local' },
    ] as const;

    it.each(QOS)('receives from a $reliability, $durability publisher that was there before', async (qos) => {
      const topic = bench.fresh('publisher_first');
      const publisher = await bench.peer.advertise({ topic, type: INT64, ...qos });
      const { received } = await bench.subscribe(topic, INT64);
      await publisher.matched();
      for (let data = 1; data <= 5; data += 1) await publisher.publish({ data });
      await eventually(() => received.length >= 5);
      expect(received).toEqual([1, 2, 3, 4, 5].map((data) => ({ data })));
    });

    it.each(QOS)('receives from a $reliability, $durability publisher that comes later', async (qos) => {
      const topic = bench.fresh('subscription_first');
      const { received } = await bench.subscribe(topic, INT64);
      const publisher = await bench.peer.advertise({ topic, type: INT64, ...qos });
      await publisher.matched();
      await publisher.publish({ data: 1 });
      await eventually(async () => {
        await publisher.publish({ data: 2 });
        return received.some((message) => JSON.stringify(message) === '{"data":2}');
      });
      if (qos.durability === 'transient_local') expect(received[0]).toEqual({ data: 1 });
    });

    it('receives once what was latched before', async () => {
      const topic = bench.fresh('history');
      const publisher = await bench.peer.advertise({ topic, type: STRING, durability: 'transient_local', depth: 1 });
      await publisher.publish({ data: 'latched' });
      const { received } = await bench.subscribe(topic, STRING);
      await eventually(() => received.length > 0);
      await publisher.publish({ data: 'next' });
      await eventually(() => received.length > 1);
      expect(received).toEqual([{ data: 'latched' }, { data: 'next' }]);
    });

    it('leaves the history out when told to', async () => {
      const topic = bench.fresh('no_history');
      const publisher = await bench.peer.advertise({ topic, type: STRING, durability: 'transient_local', depth: 10 });
      await publisher.publish({ data: 'old' });
      const { received } = await bench.subscribe(topic, STRING, { ignoreHistory: true });
      await publisher.matched();
      await publisher.publish({ data: 'new' });
      await eventually(() => received.length > 0);
      expect(received).toEqual([{ data: 'new' }]);
    });

    it('keeps the newest messages between two drains', async () => {
      const topic = bench.fresh('depth');
      const publisher = await bench.peer.advertise({ topic, type: INT64, depth: 50 });
      const { received } = await bench.subscribe(topic, INT64, { drainHz: 1, depth: 3 });
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
      const topic = bench.fresh('publisher');
      const { subscription } = await bench.subscribe(topic, INT64);
      expect(subscription.publisher()).toBeNull();
      await bench.peer.advertise({ topic, type: INT64 });
      await eventually(() => subscription.publisher() === bench.peer.nodeName);
    });

    it('tells its publishers and what it asks of them', async () => {
      const topic = bench.fresh('sight');
      const { subscription } = await bench.subscribe(topic, INT64);
      const nobody = { publishers: 0, unheard: 0, otherTypes: [], problem: null };
      expect(subscription.sight()).toMatchObject(nobody);
      const reliable = await bench.peer.advertise({ topic, type: INT64 });
      await bench.peer.advertise({ topic, type: INT64, reliability: 'best_effort' });
      await eventually(() => subscription.sight().publishers === 2 && subscription.sight().unheard === 0);
      expect(subscription.sight().qos).toEqual({ reliable: false, transientLocal: false });
      await reliable.close();
      await eventually(() => subscription.sight().publishers === 1);
    });

    it('tells the types of the publishers that it can not hear', async () => {
      const topic = bench.fresh('other_types');
      const publisher = await bench.peer.advertise({ topic, type: STRING });
      const { subscription } = await bench.subscribe(topic, INT64);
      await eventually(() => subscription.sight().otherTypes.length > 0);
      expect(subscription.sight()).toMatchObject({ publishers: 0, otherTypes: [STRING] });
      await publisher.close();
      await eventually(() => subscription.sight().otherTypes.length === 0);
    });

    it('hands a message over although an earlier callback threw', async () => {
      const topic = bench.fresh('throws');
      const publisher = await bench.peer.advertise({ topic, type: INT64 });
      let calls = 0;
      await bench.subscribe(topic, INT64, {
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
      const topic = bench.fresh('closed');
      const publisher = await bench.peer.advertise({ topic, type: INT64 });
      const closing = await bench.subscribe(topic, INT64);
      const staying = await bench.subscribe(topic, INT64);
      await publisher.matched(2);
      await closing.subscription.close();
      await closing.subscription.close();
      await publisher.publish({ data: 1 });
      await eventually(() => staying.received.length === 1);
      expect(closing.received).toEqual([]);
    });

    it('refuses an unknown type', async () => {
      await expect(
        bench.graph.subscribe({
          topic: bench.fresh('unknown'),
          type: UNKNOWN,
          drainHz: 20,
          depth: 5,
          onMessage: () => {},
        }),
      ).rejects.toBeInstanceOf(UnknownTypeError);
    });
  });
}
