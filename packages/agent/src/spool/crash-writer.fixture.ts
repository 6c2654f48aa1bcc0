/** Run as a process of its own and killed: appends a counter to the spool of argv[2] and tells each value it appended. */
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { openSpool } from './open.js';

const options = { newId: randomUUID, now: Date.now, monotonicNow: () => performance.now(), bytesMax: 1e9 };
const spool = openSpool({ ...options, dataDir: process.argv[2] ?? '', log: pino({ level: 'silent' }) });
let n = 0;
setInterval(() => {
  n += 1;
  const cdr = new Uint8Array(12);
  new DataView(cdr.buffer).setFloat64(4, n);
  spool.append({
    kind: 'point',
    source: '/counter',
    type: 'std_msgs/msg/Int64',
    schema: { hash: 'a'.repeat(64), text: 'int64 data' },
    publisher: null,
    robotStampMs: Date.now(),
    cdr,
  });
  process.stdout.write(`${n} ${performance.now()}\n`);
}, 5);
