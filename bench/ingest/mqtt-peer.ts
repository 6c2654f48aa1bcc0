import { join } from 'node:path';
import type { Context } from '../harness/benchmark.js';
import { Child } from '../harness/child.js';
import { onPath } from '../harness/on-path.js';
import { BROKER_PATH, startBroker } from './mqtt-broker.js';

/** What a window of senders came to. */
export interface Flooded {
  readonly rows: number;
  readonly seconds: number;
}

export interface MqttPeer {
  readonly subscriberPid: number;
  flood(ms: number): Promise<Flooded>;
}

/** Broker, subscriber and publishers, a process each; undefined where there is no mosquitto. */
export async function mqttPeer(
  context: Context,
  of: { robots: number; sources: number },
): Promise<MqttPeer | undefined> {
  if (!onPath('mosquitto', BROKER_PATH)) return undefined;
  const broker = await startBroker(join(context.dir, 'mqtt'));
  context.onEnd(() => broker.stop());
  const subscriber = new Child('ingest/mqtt-subscriber');
  context.onEnd(() => subscriber.stop());
  await subscriber.ask('open', { url: broker.url, dataDir: join(context.dir, 'mqtt-store') });
  const publishers = new Child('ingest/mqtt-publishers');
  context.onEnd(() => publishers.stop());
  await publishers.ask('open', { url: broker.url, count: of.robots, sources: of.sources });
  // Publishers wait for what it has inserted.
  const flood = (ms: number) => Promise.race([publishers.ask<Flooded>('flood', { ms }), subscriber.ended]);
  return { subscriberPid: subscriber.pid, flood };
}
