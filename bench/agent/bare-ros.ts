/** Bare rclnodejs in a process: who publishes and calls as a script would, or who hears and serves either side. */
import { createRequire } from 'node:module';
import { serve } from '../harness/serve.js';
import { SERVICE, SERVICE_TYPE, TOPIC_TYPE, topicOf, type WaveOptions } from './names.js';

interface Twist {
  linear: { x: number; y: number; z: number };
  angular: { x: number; y: number; z: number };
}
/** As much of rclnodejs as is used here. */
interface BareNode {
  createPublisher(type: string, topic: string): { publish(message: unknown): void };
  createSubscription(type: string, topic: string, received: (message: Twist) => void): unknown;
  createService(
    type: string,
    name: string,
    answer: (request: { load_namespace: string }, response: { send(value: unknown): void }) => void,
  ): unknown;
  createClient(
    type: string,
    name: string,
  ): { waitForService(ms: number): Promise<boolean>; sendRequestAsync(request: unknown): Promise<unknown> };
  spin(): void;
}
interface BareRclnodejs {
  init(): Promise<void>;
  shutdown(): void;
  readonly Node: new (name: string) => BareNode;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** Milliseconds of the clock that all processes of a machine share. */
const now = () => Number(process.hrtime.bigint()) / 1e6;

let rcl: BareRclnodejs | undefined;
async function nodeOf(name: string): Promise<BareNode> {
  rcl = createRequire(import.meta.url)(process.env.DROVER_RCLNODEJS || 'rclnodejs') as BareRclnodejs;
  await rcl.init();
  return new rcl.Node(name);
}

/** By the number in the message. */
let received: [n: number, atMs: number][] = [];
let served: number[] = [];
let publishers: { publish(message: unknown): void }[] = [];
let client: ReturnType<BareNode['createClient']> | undefined;

serve(
  {
    /** Hears `topics` topics, serves the service. */
    hear: async ({ topics }: { topics: number }) => {
      const node = await nodeOf('bench_peer');
      for (let n = 0; n < topics; n += 1) {
        node.createSubscription(TOPIC_TYPE, topicOf(n), ({ linear }) => received.push([linear.x, now()]));
      }
      node.createService(SERVICE_TYPE, SERVICE, ({ load_namespace }, response) => {
        served.push(Number(load_namespace));
        response.send({ success: true, message: '' });
      });
      node.spin();
    },
    /** What was heard since it was last asked. */
    received: () => {
      const all = received;
      received = [];
      return all;
    },
    served: () => {
      const all = served;
      served = [];
      return all;
    },
    /** The peer of the agent. */
    act: async ({ topics }: { topics: number }) => {
      const node = await nodeOf('bench_script');
      publishers = Array.from({ length: topics }, (_, n) => node.createPublisher(TOPIC_TYPE, topicOf(n)));
      client = node.createClient(SERVICE_TYPE, SERVICE);
      node.spin();
      if (!(await client.waitForService(20_000))) throw new Error('no server');
      await pause(1_000);
    },
    /** `inFlight` messages at once, to as many of the topics, again after a pause; when the wave of each began. */
    publish: async ({ waves, inFlight, topics, pauseMs }: WaveOptions & { topics: number }) => {
      const sent: [n: number, atMs: number][] = [];
      for (let wave = 0; wave < waves; wave += 1) {
        const startMs = now();
        for (let n = 0; n < inFlight; n += 1) {
          const number = wave * inFlight + n;
          const message = { linear: { x: number, y: 0, z: 0 }, angular: { x: 0, y: 0, z: 0 } };
          publishers[n % topics]?.publish(message);
          sent.push([number, startMs]);
        }
        await pause(pauseMs);
      }
      return sent;
    },
    /** `inFlight` calls at once, again when all are answered; how long each took. */
    call: async ({ waves, inFlight, pauseMs }: WaveOptions) => {
      const tookMs: number[] = [];
      for (let wave = 0; wave < waves; wave += 1) {
        const startMs = now();
        const calls = Array.from({ length: inFlight }, async (_, n) => {
          await client?.sendRequestAsync({ load_namespace: String(wave * inFlight + n) });
          tookMs.push(now() - startMs);
        });
        await Promise.all(calls);
        await pause(pauseMs);
      }
      return tookMs;
    },
    /** For memory: one subscription and nothing else. */
    idle: async () => {
      const node = await nodeOf('bench_idle');
      node.createSubscription(TOPIC_TYPE, topicOf(0), () => {});
      node.spin();
    },
  },
  () => rcl?.shutdown(),
);
