/** Robots that publish a message a point over MQTT, all in one process, as fast as what they sent is inserted. */
import mqtt, { type MqttClient } from 'mqtt';
import { serve } from '../harness/serve.js';
import { messages } from '../links/messages.js';
import { PROGRESS_POINTS, PROGRESS_TOPIC, topicOf } from './mqtt-topics.js';

/** Published and not yet inserted, of all robots: many in flight, so that nothing ever waits for a round trip. */
const POINTS_AHEAD = 2_000;

let robots: MqttClient[] = [];
let sourcesOfEach = 0;
let payloads: readonly Buffer[] = [];
let sent = 0;
let inserted = 0;
let wake: () => void = () => {};

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
}

serve({
  open: async ({ url, count, sources }: { url: string; count: number; sources: number }) => {
    payloads = (await messages(1_000, 1)).cdrs.map((cdr) => Buffer.from(cdr.buffer));
    sourcesOfEach = sources;
    const progress = await mqtt.connectAsync(url, { reconnectPeriod: 0 });
    progress.on('message', (_topic, text) => {
      inserted = Number(text);
      wake();
    });
    await progress.subscribeAsync(PROGRESS_TOPIC);
    robots = await Promise.all(Array.from({ length: count }, () => mqtt.connectAsync(url, { reconnectPeriod: 0 })));
  },
  flood: async ({ ms }: { ms: number }) => {
    const [before, startMs] = [inserted, performance.now()];
    while (performance.now() - startMs < ms) {
      for (let n = 0; n < PROGRESS_POINTS; n += 1, sent += 1) {
        const robot = sent % robots.length;
        const topic = topicOf(robot, Math.floor(sent / robots.length) % sourcesOfEach);
        robots[robot]?.publish(topic, payloads[sent % payloads.length] ?? '', { qos: 1 });
      }
      await until(() => sent - inserted <= POINTS_AHEAD);
    }
    await until(() => inserted === sent);
    return { rows: inserted - before, seconds: (performance.now() - startMs) / 1000 };
  },
});
