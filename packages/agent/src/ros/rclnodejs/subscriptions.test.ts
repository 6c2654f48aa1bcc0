import { parseSchema } from '@drover/shared/ros/definitions';
import { expect, it, vi } from 'vitest';
import { Definitions } from '../definitions.js';
import { UNGUARDED } from '../guard.js';
import type { RclNode, RclNodeOptions, Rclnodejs } from './api.js';
import type { Connection } from './connection.js';
import { GIVEN_BACK_BYTES_MIN } from './give-back.js';
import { Subscriptions } from './subscriptions.js';

const INT64 = 'std_msgs/msg/Int64';

/** ROS with one message waiting for each reader, of which the first can't be taken from where it `fails`. */
function ros({
  fails,
  publishers = [],
  bytes = 5,
}: {
  fails: boolean;
  publishers?: readonly object[];
  bytes?: number;
}) {
  const calls = { waits: 0, looks: 0 };
  const readers: { destroyed: boolean }[] = [];
  class Node {
    destroyed = false;
    #callback: (cdr: Buffer) => void = () => {};
    constructor(_name: string, _namespace: string, _context: unknown, _options: RclNodeOptions) {
      readers.push(this);
    }
    createSubscription(_type: unknown, _topic: string, _options: unknown, callback: (cdr: Buffer) => void) {
      this.#callback = callback;
      return { handle: this };
    }
    spinOnce() {
      calls.waits += 1;
      if (fails && readers.length === 1) throw new Error('rcl_wait() failed');
    }
    execute() {
      this.#callback(Buffer.alloc(bytes, 1));
      this.#callback = () => {};
    }
    destroy() {
      this.destroyed = true;
    }
  }
  const rcl = { Node, QoS: class {} } as unknown as Rclnodejs;
  const node = {
    getPublishersInfoByTopic: () => {
      calls.looks += 1;
      return publishers;
    },
    countPublishers: () => publishers.length,
  } as unknown as RclNode;
  return { readers, rcl, node, calls };
}

function open({ rcl, node }: ReturnType<typeof ros>, warnings: string[] = []): Subscriptions {
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
  return new Subscriptions(connection, new Definitions(source));
}

it('makes another reader of a topic where ROS fails to take from one, and says so once', async () => {
  vi.useFakeTimers();
  try {
    const failing = ros({ fails: true });
    const { readers } = failing;
    const warnings: string[] = [];
    const subscriptions = open(failing, warnings);
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

const publisher = {
  ...{ node_name: 'p', node_namespace: '/', topic_type: INT64, endpoint_gid: [1] },
  qos_profile: { reliability: 1, durability: 2 },
};

it('waits in ROS for a silent topic once a second, not at each drain, and looks at its publishers in the same wake-up', async () => {
  vi.useFakeTimers();
  try {
    const silent = ros({ fails: false, publishers: [publisher] });
    const subscriptions = open(silent);
    await subscriptions.subscribe({ topic: '/t', type: INT64, drainHz: 20, depth: 5, onMessage: () => {} });
    await vi.advanceTimersByTimeAsync(1000);
    const before = { ...silent.calls };
    await vi.advanceTimersByTimeAsync(10_000);
    expect(silent.calls.waits - before.waits).toBeLessThanOrEqual(10);
    expect(silent.calls.looks - before.looks).toBeGreaterThanOrEqual(19);
    expect(silent.calls.looks - before.looks).toBeLessThanOrEqual(21);
    // The drains' own, and no other.
    expect(vi.getTimerCount()).toBe(1);
    subscriptions.close();
  } finally {
    vi.useRealTimers();
  }
});

it('wakes up once for each rest of its subscriber', async () => {
  vi.useFakeTimers();
  try {
    const { rcl, node } = ros({ fails: false, publishers: [publisher] });
    const subscriptions = open({ ...ros({ fails: false }), rcl, node });
    let drains = 0;
    const restMs = () => {
      drains += 1;
      return 500;
    };
    await subscriptions.subscribe({ topic: '/t', type: INT64, drainHz: 20, depth: 5, restMs, onMessage: () => {} });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(drains).toBeLessThanOrEqual(21);
    expect(drains).toBeGreaterThanOrEqual(19);
    expect(vi.getTimerCount()).toBe(1);
    subscriptions.close();
  } finally {
    vi.useRealTimers();
  }
});

it('gives back the memory of a large message where its subscriber rests, and keeps what may come again', async () => {
  vi.useFakeTimers();
  try {
    const subscriptions = open(ros({ fails: false, publishers: [publisher], bytes: GIVEN_BACK_BYTES_MIN }));
    const received: Uint8Array[] = [];
    const onMessage = (cdr: Uint8Array) => received.push(cdr);
    const drained = { topic: '/t', type: INT64, drainHz: 20, depth: 5, onMessage };
    const awake = await subscriptions.subscribe(drained);
    await vi.advanceTimersByTimeAsync(50);
    const resting = await subscriptions.subscribe({ ...drained, restMs: () => 500 });
    await vi.advanceTimersByTimeAsync(50);
    const [first, second] = received;
    for (const [subscription, cdr] of [
      [awake, first],
      [resting, second],
    ] as const) {
      if (cdr) subscription.release?.(cdr);
    }
    expect([first?.byteLength, second?.byteLength]).toEqual([GIVEN_BACK_BYTES_MIN, 0]);
    subscriptions.close();
  } finally {
    vi.useRealTimers();
  }
});
