/**
 * The robot of the peer: a command comes by ws, is written durably, published, its outcome written durably and told. Without `writes`
 * nothing is written here. Published by rclnodejs where ROS 2 is sourced, else to a listener in this process.
 */
import { once } from 'node:events';
import Sqlite from 'better-sqlite3';
import { WebSocket } from 'ws';
import { serve } from '../harness/serve.js';
import { barePublisher, shutDown } from './ros.js';

serve(
  {
    open: async ({ url, file, writes }: { url: string; file: string; writes: boolean }) => {
      const db = new Sqlite(file);
      db.pragma('journal_mode = WAL');
      db.pragma('synchronous = FULL');
      db.exec('CREATE TABLE inbox (uuid TEXT PRIMARY KEY, body TEXT NOT NULL, outcome TEXT)');
      const insert = db.prepare('INSERT INTO inbox (uuid, body) VALUES (?, ?)');
      const update = db.prepare('UPDATE inbox SET outcome = ? WHERE uuid = ?');
      const publish = await barePublisher();
      const socket = new WebSocket(url.replace('http', 'ws'), { perMessageDeflate: false });
      socket.on('message', (data) => {
        const { uuid, body } = JSON.parse(String(data)) as { uuid: string; body: { name: string; payload: object } };
        if (writes) insert.run(uuid, JSON.stringify(body));
        publish(body.name, body.payload);
        const result = { matched_subscribers: 1 };
        if (writes) update.run(JSON.stringify(result), uuid);
        socket.send(JSON.stringify({ uuid, result }));
      });
      await once(socket, 'open');
    },
  },
  shutDown,
);
