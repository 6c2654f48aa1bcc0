/** Fills the store of a cloud that does not run, through the cloud's own writer: what years of robots would have left. */
import { randomUUID } from 'node:crypto';
import { DataWriter } from '@drover/cloud/dist/data/writer.js';
import { openStore, type Store } from '@drover/cloud/dist/db/store.js';
import { robotRefs } from '@drover/cloud/dist/robots/store.js';
import { serve } from '../harness/serve.js';
import { messages } from '../links/messages.js';
import { FIRST_STAMP_MS, STEP_MS, sourceName } from './layout.js';

const ROWS_A_BATCH = 1000;
/** Written at once, so that they share commits as robots' batches do. */
const BATCHES_TOGETHER = 4;

interface Fill {
  readonly dataDir: string;
  /** The first so many robots of the store have data. */
  readonly robots: number;
  readonly sources: number;
  /** Of a source: those it has, and those it is to have. */
  readonly from: number;
  readonly to: number;
}

serve({
  fill: async ({ dataDir, robots: count, sources, from, to }: Fill) => {
    const store = openStore({ dataDir, nowMs: Date.now() });
    const robots = await robotRefs(store.db).orderBy('robots.key').limit(count).execute();
    const writer = new DataWriter({ store });
    const { schema, cdrs } = await messages(ROWS_A_BATCH, 7);
    const definition = { hash: schema.hash, type: schema.type, text: schema.text };
    const channels = Array.from({ length: sources }, (_, source) => {
      return { source: sourceName(source), type: schema.type, schema_hash: schema.hash, publisher: '/bench/gps' };
    });
    const spools = robots.map(() => randomUUID());
    const pending: Promise<unknown>[] = [];
    const stepsABatch = ROWS_A_BATCH / sources;
    for (let step = from; step < to; step += stepsABatch) {
      for (const [at, robot] of robots.entries()) {
        const rows = cdrs.slice(0, Math.min(stepsABatch, to - step) * sources).map((cdr, row) => ({
          kind: 'point' as const,
          channel: row % sources,
          robot_stamp_ms: FIRST_STAMP_MS + (step + Math.floor(row / sources)) * STEP_MS,
          cdr,
        }));
        const spool = { spool_id: spools[at] ?? '', lane: 'live' as const, first_seq: (step - from) * sources + 1 };
        const batch = { kind: 'batch' as const, ...spool, clock: null, schemas: [definition], channels, rows };
        pending.push(writer.write(robot, batch, Date.now(), true));
        if (pending.length >= BATCHES_TOGETHER) await Promise.all(pending.splice(0));
      }
    }
    await Promise.all(pending);
    await writer.stop();
    await store.close();
  },
  commands: async ({ dataDir, count }: { dataDir: string; count: number }) => {
    const store = openStore({ dataDir, nowMs: Date.now() });
    await addCommands(store, await robotRefs(store.db).orderBy('robots.key').limit(10).execute(), count);
    await store.close();
  },
});

async function addCommands(
  store: Store,
  robots: readonly { key: number; tenantKey: number }[],
  count: number,
): Promise<void> {
  const nowMs = Date.now();
  await store.exclusive((raw) => {
    const insert = raw.prepare(
      `INSERT INTO commands (uuid, tenant_key, robot_key, interface, name, type, payload, latched, timeout_ms, created_at_ms,
         deadline_ms, give_up_ms, state, result, sent_at_ms, finished_at_ms, ended_by)
       VALUES (?, ?, ?, 'topic', '/cmd_vel', 'geometry_msgs/msg/Twist', '{"linear":{"x":0.1}}', 0, 10000, ?, ?, ?, 'executed',
         '{"matched_subscribers":1}', ?, ?, 'robot')`,
    );
    raw.transaction(() => {
      for (let at = 0; at < count; at += 1) {
        const robot = robots[at % robots.length];
        insert.run(randomUUID(), robot?.tenantKey, robot?.key, nowMs, nowMs + 5000, nowMs + 75_000, nowMs, nowMs);
      }
    })();
  });
}
