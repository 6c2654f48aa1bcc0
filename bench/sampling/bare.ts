/**
 * The agent's peers: bare scripts that keep a topic's messages `hz` times a second. `poll`: a lean node that is never spun, asked on a timer
 * for the one message that waits; `plain`: an ordinary rclnodejs subscription, the newest message kept on a timer. What is kept is spooled as
 * the agent does it: committed durably in groups (a row each, at most 200 ms after it came), sent, and removed with the first commit after
 * its acknowledgement, or a second after it where none comes.
 */
import { createRequire } from 'node:module';
import { serialize } from 'node:v8';
import { decode, encode } from '@msgpack/msgpack';
import Sqlite from 'better-sqlite3';
import { WebSocket } from 'ws';
import { serve } from '../harness/serve.js';

const COMMIT_MS = 200;
const ACK_MS = 1000;
/** rmw's numbers. What is left to the system is best effort, which loses messages of 1 MB. */
const QOS = { keepLast: 1, reliable: 1, volatile: 2 };

export interface BareBatch {
  readonly rows: readonly { readonly id: number; readonly stampMs: number; readonly body: Uint8Array }[];
}

export interface BareOptions {
  readonly how: 'poll' | 'plain';
  readonly name: string;
  readonly topic: string;
  readonly type: string;
  readonly hz: number;
  readonly depth: number;
  readonly file: string;
  readonly sink: string;
}

/** As much of rclnodejs as is used here. */
interface BareNode {
  createSubscription(type: string, topic: string, options: object, received: (message: unknown) => void): unknown;
  spin(): void;
  spinOnce(timeoutMs: number): void;
}
interface BareRclnodejs {
  init(): Promise<void>;
  shutdown(): void;
  readonly Node: new (name: string, namespace?: string, context?: undefined, options?: object) => BareNode;
  readonly QoS: new (history: number, depth: number, reliability: number, durability: number) => object;
}

let rcl: BareRclnodejs | undefined;

function spool({ file, sink, name }: BareOptions): (body: Uint8Array) => void {
  const db = new Sqlite(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('CREATE TABLE samples (id INTEGER PRIMARY KEY, stamp_ms REAL NOT NULL, body BLOB NOT NULL) STRICT');
  const insert = db.prepare('INSERT INTO samples (id, stamp_ms, body) VALUES (?, ?, ?)');
  const remove = db.prepare('DELETE FROM samples WHERE id <= ?');
  let waiting: BareBatch['rows'][number][] = [];
  let [lastId, acked] = [0, 0];
  let timer: NodeJS.Timeout | undefined;
  let dueMs = Number.POSITIVE_INFINITY;
  const socket = new WebSocket(`${sink.replace('http', 'ws')}/bare`, { headers: { authorization: name } });
  const write = db.transaction((rows: typeof waiting) => {
    for (const { id, stampMs, body } of rows) insert.run(id, stampMs, body);
    if (acked > 0) remove.run(acked);
  });
  const commitIn = (ms: number) => {
    if (dueMs <= performance.now() + ms) return;
    clearTimeout(timer);
    dueMs = performance.now() + ms;
    timer = setTimeout(() => {
      dueMs = Number.POSITIVE_INFINITY;
      const rows = waiting;
      waiting = [];
      write(rows);
      acked = 0;
      if (rows.length > 0 && socket.readyState === WebSocket.OPEN) socket.send(encode({ rows } satisfies BareBatch));
    }, ms);
  };
  socket.on('message', (data: Buffer) => {
    acked = (decode(data) as { lastId: number }).lastId;
    commitIn(ACK_MS);
  });
  return (body) => {
    lastId += 1;
    waiting.push({ id: lastId, stampMs: Date.now(), body });
    commitIn(COMMIT_MS);
  };
}

async function open(options: BareOptions): Promise<void> {
  const { how, name, topic, type, hz, depth } = options;
  rcl = createRequire(import.meta.url)(process.env.DROVER_RCLNODEJS || 'rclnodejs') as BareRclnodejs;
  await rcl.init();
  const keep = spool(options);
  const nodeName = name.replace('-', '_');
  if (how === 'poll') {
    const lean = { startParameterServices: false, startTypeDescriptionService: false, enableRosout: false };
    const node = new rcl.Node(nodeName, '', undefined, lean);
    const qos = new rcl.QoS(QOS.keepLast, depth, QOS.reliable, QOS.volatile);
    node.createSubscription(type, topic, { qos, isRaw: true }, (cdr) => keep(cdr as Buffer));
    setInterval(() => node.spinOnce(0), 1000 / hz);
    return;
  }
  const node = new rcl.Node(nodeName);
  let last: unknown;
  node.createSubscription(type, topic, {}, (message) => {
    last = message;
  });
  node.spin();
  setInterval(() => {
    if (last === undefined) return;
    // The cheapest way from a message to bytes: the generated classes would write field by field.
    keep(serialize(last));
    last = undefined;
  }, 1000 / hz);
}

// A process that exits beside a node that spins crashes on its way.
serve({ open }, () => rcl?.shutdown());
