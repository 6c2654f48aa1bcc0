/**
 * The peer of the gateway: a bare ws server that takes any robot, welcomes it, and stores vitals: batches of whatever came in 100 ms, in
 * one durable transaction, then acknowledged. MessagePack decoded, nothing checked, nothing known of robots.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LINK_SUBPROTOCOL } from '@drover/shared/link/protocol';
import { decode, encode } from '@msgpack/msgpack';
import Sqlite from 'better-sqlite3';
import { type WebSocket, WebSocketServer } from 'ws';
import { serve } from '../harness/serve.js';

const COMMIT_MS = 100;

interface Up {
  readonly kind: string;
  readonly spool_id: string;
  readonly first_seq: number;
  readonly robot_sent_ms: number;
  readonly rows: { robot_stamp_ms: number; cpu: number; ram: number; disk: number; battery: number }[];
}

serve({
  open: async ({ file }: { file: string }) => {
    const db = new Sqlite(file);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.exec(`CREATE TABLE vitals (id INTEGER PRIMARY KEY, robot INTEGER NOT NULL, stamp_ms REAL NOT NULL,
             cpu REAL NOT NULL, ram REAL NOT NULL, disk REAL NOT NULL, battery REAL NOT NULL) STRICT;
             CREATE INDEX vitals_by_robot ON vitals (robot, stamp_ms)`);
    const insert = db.prepare(
      'INSERT INTO vitals (robot, stamp_ms, cpu, ram, disk, battery) VALUES (?, ?, ?, ?, ?, ?)',
    );
    let waiting: { socket: WebSocket; robot: number; batch: Up }[] = [];
    const store = db.transaction((all: typeof waiting) => {
      for (const { robot, batch } of all) {
        for (const row of batch.rows) insert.run(robot, row.robot_stamp_ms, row.cpu, row.ram, row.disk, row.battery);
      }
    });
    setInterval(() => {
      const all = waiting;
      waiting = [];
      if (all.length > 0) store(all);
      for (const { socket, batch } of all) {
        const seq = batch.first_seq + batch.rows.length - 1;
        socket.send(encode({ kind: 'batch_ack', spool_id: batch.spool_id, lane: 'live', seq }));
      }
    }, COMMIT_MS);
    const server = createServer();
    const sockets = new WebSocketServer({ server, perMessageDeflate: false, handleProtocols: () => LINK_SUBPROTOCOL });
    let robots = 0;
    sockets.on('connection', (socket) => {
      robots += 1;
      const robot = robots;
      socket.on('message', (data: Buffer) => {
        const message = decode(data) as Up;
        const nowMs = Date.now();
        if (message.kind === 'batch') {
          waiting.push({ socket, robot, batch: message });
        } else if (message.kind === 'clock_request') {
          const { robot_sent_ms } = message;
          socket.send(encode({ kind: 'clock_reply', robot_sent_ms, cloud_received_ms: nowMs, cloud_sent_ms: nowMs }));
        } else if (message.kind === 'hello') {
          const welcome = { kind: 'welcome', link_version: 1, robot_id: '', acked: { live: 0, backfill: 0 } };
          socket.send(encode({ ...welcome, cloud_now_ms: nowMs }));
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 4096, resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
});
