/**
 * Run as a process of its own: fills the spool of argv[2] with what then becomes too old, lets some of it be dropped, and dies of SIGKILL
 * right after the commit number argv[3] that drops, with a transaction begun that drops more. Tells how many rows it has put on disk.
 */
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { pino } from 'pino';
import { openSpool } from './open.js';

const [, , dataDir = '', commits = ''] = process.argv;
const DAY = 24 * 3_600_000;
let nowMs = 0;
const spool = openSpool({
  dataDir,
  newId: randomUUID,
  now: () => nowMs,
  monotonicNow: () => nowMs,
  boot: { id: 'boot', sinceMs: () => nowMs },
  log: pino({ level: 'silent' }),
  bytesMax: 1e9,
  ageMsMax: 2 * DAY,
});

const FIRST = 70_000;
for (let n = 1; n <= FIRST; n += 1) append(n);
await until(() => spool.store.nextId === FIRST + 1);
nowMs += 3 * DAY;
append(FIRST + 1);
await until(() => (spool.drops()[0]?.rows ?? 0) >= 20_000 * Number(commits));
writeSync(1, `${spool.store.nextId - 1}\n`);
const { store } = spool;
const commit = store.commit.bind(store);
store.commit = (work) =>
  commit({
    ...work,
    mayForm: () => {
      // Within the transaction, behind the drops.
      process.kill(process.pid, 'SIGKILL');
      return false;
    },
  });
append(FIRST + 2);

function append(n: number): void {
  const cdr = new Uint8Array(12);
  new DataView(cdr.buffer).setFloat64(4, n);
  const schema = { hash: 'a'.repeat(64), text: 'int64 data' };
  const common = { kind: 'point', source: '/counter', type: 'std_msgs/msg/Int64', publisher: null } as const;
  spool.append({ ...common, schema, robotStampMs: n, cdr });
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
