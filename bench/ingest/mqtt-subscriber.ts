/** What this kind of system usually does: a QoS 1 subscriber that inserts a row a message, and acknowledges what is on disk. */
import { addPointsSql } from '@drover/cloud/dist/data/ingest-sql.js';
import { openStore } from '@drover/cloud/dist/db/store.js';
import mqtt from 'mqtt';
import { serve } from '../harness/serve.js';
import { POINTS_FILTER, PROGRESS_POINTS, PROGRESS_TOPIC } from './mqtt-topics.js';

serve({
  /** The cloud's own tables, index and pragmas, `synchronous=FULL` among them. */
  open: async ({ url, dataDir }: { url: string; dataDir: string }) => {
    const raw = await openStore({ dataDir, nowMs: Date.now() }).exclusive((handle) => handle);
    const insert = raw.prepare(addPointsSql(1));
    const keys = new Map<string, number>();
    let inserted = 0;
    // A session of its own: were it to last, unacknowledged messages of an earlier run would come again.
    const client = await mqtt.connectAsync(url, { clean: true, reconnectPeriod: 0 });
    // Called before the PUBACK, which follows when it has called back.
    client.handleMessage = (packet, acknowledge) => {
      let key = keys.get(packet.topic);
      if (key === undefined) {
        key = keys.size + 1;
        keys.set(packet.topic, key);
      }
      const nowMs = Date.now();
      insert.run(key, key, nowMs, nowMs, null, packet.payload);
      acknowledge();
      inserted += 1;
      if (inserted % PROGRESS_POINTS === 0) client.publish(PROGRESS_TOPIC, String(inserted), { qos: 0 });
    };
    await client.subscribeAsync(POINTS_FILTER, { qos: 1 });
  },
});
