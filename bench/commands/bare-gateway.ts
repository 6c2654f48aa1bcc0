/** The peer of the command path: express, ws and better-sqlite3, a row a command, written durably at its POST and at its outcome. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Sqlite from 'better-sqlite3';
import express from 'express';
import { type WebSocket, WebSocketServer } from 'ws';
import { serve } from '../harness/serve.js';

serve({
  open: async ({ file }: { file: string }) => {
    const db = new Sqlite(file);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.exec('CREATE TABLE commands (uuid TEXT PRIMARY KEY, body TEXT NOT NULL, state TEXT NOT NULL, result TEXT)');
    const insert = db.prepare(`INSERT INTO commands (uuid, body, state) VALUES (?, ?, 'created')`);
    const update = db.prepare(`UPDATE commands SET state = 'executed', result = ? WHERE uuid = ?`);
    const find = db.prepare('SELECT uuid, state, result FROM commands WHERE uuid = ?');
    let robot: WebSocket | undefined;

    const app = express();
    app.use(express.json());
    app.post('/robots/:id/commands', (request, response) => {
      const uuid = randomUUID();
      insert.run(uuid, JSON.stringify(request.body));
      robot?.send(JSON.stringify({ uuid, body: request.body }));
      response.status(201).json({ uuid });
    });
    app.get('/commands/:uuid/outcome', (request, response) => {
      response.json(find.get(request.params.uuid));
    });
    const server = createServer(app);
    const sockets = new WebSocketServer({ server, perMessageDeflate: false });
    sockets.on('connection', (socket) => {
      robot = socket;
      socket.on('message', (data) => {
        const { uuid, result } = JSON.parse(String(data)) as { uuid: string; result: unknown };
        update.run(JSON.stringify(result), uuid);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
});
