import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { Listener } from './listener.js';

it('closes a connection that pipelines without end, after a bounded number of answers', async () => {
  let answered = 0;
  const server = createServer((_request, response) => {
    answered += 1;
    response.end();
  });
  const listener = new Listener(server, { host: '127.0.0.1', port: 0, drainMs: 100 });
  await listener.start();
  const socket = connect(Number(new URL(listener.url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3_000));
  socket.resume();
  await once(socket, 'close');
  expect(answered).toBeGreaterThan(0);
  expect(answered).toBeLessThanOrEqual(1_000);
  await listener.stop();
});

it('keeps an idle connection for longer than clients and proxies do, who would else write into one that is being closed', async () => {
  const listener = new Listener(
    createServer((_request, response) => response.end()),
    { host: '127.0.0.1', port: 0, drainMs: 100 },
  );
  await listener.start();
  const { headers } = await fetch(listener.url);
  expect(headers.get('keep-alive')).toMatch(/^timeout=75\b/);
  await listener.stop();
});
