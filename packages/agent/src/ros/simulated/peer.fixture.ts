import { setTimeout as sleep } from 'node:timers/promises';
import { fromJson } from '@drover/shared/ros/from-json';
import { toJson } from '@drover/shared/ros/to-json';
import type { GraphPeer, PeerSubscription } from '../testing/peer.js';
import type { SimulatedGraph } from './graph.js';

/** A node on the simulated graph for tests, the other end of the contract's. */
export function simulatedPeer(graph: SimulatedGraph, nodeName = '/peer'): GraphPeer {
  const node = graph.peers.node(nodeName);
  const stopped = new AbortController();
  const wait = (delayMs: number) => sleep(delayMs, undefined, { signal: stopped.signal, ref: false });

  const schemaOf = async (type: string) => {
    const definition = await graph.describe(type);
    if (definition.kind !== 'msg') throw new TypeError(`${type} is no message`);
    return definition.message;
  };

  return {
    nodeName,
    subscribe: async ({ topic, type, ...qos }) => {
      const schema = await schemaOf(type);
      const inbox = new Inbox();
      await node.subscribe(topic, type, (message) => inbox.push(toJson(schema, message)), qos);
      return inbox;
    },
    advertise: async ({ topic, type, ...qos }) => {
      const schema = await schemaOf(type);
      const publisher = await node.publisher(topic, type, qos);
      const publish = async (message: unknown) => publisher.publish(fromJson(schema, message, 'message'));
      return {
        matched: async (count = 1) => {
          while (publisher.subscriberCount < count) await wait(1);
        },
        publish,
        repeat: async (message, { count, hz }) => {
          const begin = performance.now();
          for (let index = 0; index < count; index += 1) {
            await wait(Math.max(0, begin + (index * 1000) / hz - performance.now()));
            await publish(message);
          }
        },
        close: async () => publisher.close(),
      };
    },
    serveSetBool: async (name, { delayMs = 0 } = {}) => {
      await node.service(name, 'std_srvs/srv/SetBool', async ({ data }) => {
        await wait(delayMs);
        return { success: data === true, message: data === true ? 'on' : 'off' };
      });
    },
    serveFibonacci: async (name, { stepMs = 20 } = {}) => {
      await node.actionServer(name, 'test_msgs/action/Fibonacci', {
        onGoal: ({ order }) => Number(order) <= 40,
        execute: async ({ goal, canceled, feedback }) => {
          const order = Number(goal.order);
          const sequence = [0, 1].slice(0, Math.max(order, -1) + 1);
          const end = (status: 'succeeded' | 'canceled' | 'aborted') => ({ status, result: { sequence } });
          for (let step = 1; step < order; step += 1) {
            await wait(stepMs);
            if (canceled.aborted) return end('canceled');
            sequence.push((sequence.at(-1) ?? 0) + (sequence.at(-2) ?? 0));
            feedback({ sequence: [...sequence] });
          }
          return end(order < 0 ? 'aborted' : 'succeeded');
        },
      });
    },
    log: async (level, text) => (await node.logger())[level](text),
    stop: async () => {
      stopped.abort();
      node.destroy();
    },
  };
}

/** What a subscription received, to be waited for. */
class Inbox implements PeerSubscription {
  readonly received: unknown[] = [];
  readonly #waiting: ((message: unknown) => void)[] = [];
  #taken = 0;

  next(): Promise<unknown> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#hand();
    });
  }

  push(message: unknown): void {
    this.received.push(message);
    this.#hand();
  }

  #hand(): void {
    while (this.#waiting.length > 0 && this.#taken < this.received.length) {
      this.#waiting.shift()?.(this.received[this.#taken]);
      this.#taken += 1;
    }
  }
}
