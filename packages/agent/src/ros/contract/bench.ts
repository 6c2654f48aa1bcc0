import { decodeCdr, encodeCdr } from '@drover/shared/ros/cdr';
import type { MessageSchema } from '@drover/shared/ros/definitions';
import { fromJson } from '@drover/shared/ros/from-json';
import { toJson } from '@drover/shared/ros/to-json';
import { expect, onTestFinished } from 'vitest';
import type { RosGraph, SubscribeRequest, Subscription } from '../graph.js';
import type { GraphPeer } from '../testing/peer.js';

/** A started graph and a peer on it that discover each other. */
export interface GraphFixture {
  readonly graph: RosGraph;
  readonly peer: GraphPeer;
  /** A started graph that shares nothing with the first but what is in ROS: as the agent has after a restart. */
  another(): Promise<RosGraph>;
  /** Stops all of them; called once, also after a test stopped the graph itself. */
  close(): Promise<void>;
}

export const TWIST = 'geometry_msgs/msg/Twist';
export const INT64 = 'std_msgs/msg/Int64';
export const STRING = 'std_msgs/msg/String';
export const SET_BOOL = 'std_srvs/srv/SetBool';
export const FIBONACCI = 'test_msgs/action/Fibonacci';
export const UNKNOWN = 'no_such_msgs/msg/Nothing';

/** What the tests of the contract share: the graph under test, its peer, and messages as JSON both ways. */
export class Bench {
  readonly makeFixture: () => Promise<GraphFixture>;
  #fixture: GraphFixture | undefined;
  #names = 0;

  constructor(makeFixture: () => Promise<GraphFixture>) {
    this.makeFixture = makeFixture;
  }

  async open(): Promise<void> {
    this.#fixture = await this.makeFixture();
  }

  async close(): Promise<void> {
    await this.#fixture?.close();
  }

  get graph(): RosGraph {
    return this.#opened.graph;
  }

  get peer(): GraphPeer {
    return this.#opened.peer;
  }

  another(): Promise<RosGraph> {
    return this.#opened.another();
  }

  get #opened(): GraphFixture {
    if (this.#fixture === undefined) throw new TypeError('the fixture is there only while tests run');
    return this.#fixture;
  }

  /** A name no other test uses. */
  fresh(word: string): string {
    this.#names += 1;
    return `/contract/${word}_${this.#names}`;
  }

  async schemaOf(type: string): Promise<MessageSchema> {
    const definition = await this.graph.describe(type);
    if (definition.kind !== 'msg') throw new TypeError(`${type} is no message`);
    return definition.message;
  }

  async publish(topic: string, type: string, json: unknown, options: { latched?: boolean } = {}) {
    const schema = await this.schemaOf(type);
    return this.graph.publish({
      topic,
      type,
      cdr: encodeCdr(schema, fromJson(schema, json, 'payload')),
      latched: options.latched ?? false,
      matchTimeoutMs: 2000,
    });
  }

  /** Subscribes until the test is over; what arrives is decoded. */
  async subscribe(
    topic: string,
    type: string,
    options: Partial<SubscribeRequest> = {},
  ): Promise<{ subscription: Subscription; received: unknown[] }> {
    const schema = await this.schemaOf(type);
    const received: unknown[] = [];
    const subscription = await this.graph.subscribe({
      topic,
      type,
      drainHz: 50,
      depth: 10,
      onMessage: (cdr) => received.push(toJson(schema, decodeCdr(schema, cdr))),
      ...options,
    });
    onTestFinished(() => subscription.close());
    return { subscription, received };
  }
}

/** Waits for something to become true, for at most 10 s. */
export async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(condition, { timeout: 10_000, interval: 20 }).toBe(true);
}
