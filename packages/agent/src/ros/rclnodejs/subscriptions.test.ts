import { parseSchema } from '@drover/shared/ros/definitions';
import { expect, it, vi } from 'vitest';
import { Definitions } from '../definitions.js';
import { UNGUARDED } from '../guard.js';
import type { RclNode, RclNodeOptions, Rclnodejs } from './api.js';
import type { Connection } from './connection.js';
import { Subscriptions } from './subscriptions.js';

const INT64 = 'std_msgs/msg/Int64';

/** ROS with one message waiting for each reader, of which the first can't be taken from. */
function failingOnce() {
  const readers: { destroyed: boolean }[] = [];
  class Node {
    destroyed = false;
    #callback: (cdr: Buffer) => void = () => {};
    constructor(_name: string, _namespace: string, _context: unknown, _options: RclNodeOptions) {
      readers.push(this);
    }
    createSubscription(_type: unknown, _topic: string, _options: unknown, callback: (cdr: Buffer) => void) {
      this.#callback = callback;
    }
    spinOnce() {
      if (readers.length === 1) throw new Error('rcl_wait() failed');
      this.#callback(Buffer.of(0, 1, 0, 0, 1));
      this.#callback = () => {};
    }
    destroy() {
      this.destroyed = true;
    }
  }
  const rcl = { Node, QoS: class {} } as unknown as Rclnodejs;
  const node = { getPublishersInfoByTopic: () => [], countPublishers: () => 0 } as unknown as RclNode;
  return { readers, rcl, node };
}

it('makes another reader of a topic where ROS fails to take from one, and says so once', async () => {
  vi.useFakeTimers();
  try {
    const { readers, rcl, node } = failingOnce();
    const warnings: string[] = [];
    const connection: Connection = {
      rcl,
      node,
      namespace: '/',
      context: { shutdown() {} },
      stopped: new AbortController().signal,
      log: { warn: (_, message) => warnings.push(message) },
      now: () => performance.now(),
      joinedAtMs: 0,
      guard: UNGUARDED,
      idleMs: 60_000,
    };
    const source = { read: async () => parseSchema(INT64, 'int64 data').text };
    const subscriptions = new Subscriptions(connection, new Definitions(source));
    const received: Uint8Array[] = [];
    await subscriptions.subscribe({
      topic: '/t',
      type: INT64,
      drainHz: 20,
      depth: 5,
      onMessage: (cdr) => received.push(cdr),
    });
    await vi.advanceTimersByTimeAsync(2000);
    expect(received).toHaveLength(1);
    expect(warnings).toHaveLength(1);
    expect(readers.map(({ destroyed }) => destroyed)).toEqual([true, false]);
    subscriptions.close();
    expect(readers.map(({ destroyed }) => destroyed)).toEqual([true, true]);
  } finally {
    vi.useRealTimers();
  }
});
