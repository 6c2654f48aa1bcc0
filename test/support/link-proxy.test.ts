import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LinkProxy } from './link-proxy.js';

let server: Server;
let proxy: LinkProxy;
let ends: Socket[];
beforeEach(async () => {
  server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await LinkProxy.start(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  ends = [];
});
afterEach(async () => {
  for (const end of ends) end.destroy();
  await proxy.stop();
  server.close();
});

/** Both ends of a connection through the proxy, with what each has heard. */
async function joined() {
  const arrived = once(server, 'connection') as Promise<[Socket]>;
  const near = open();
  const [far] = await arrived;
  return { near, far: listening(far) };
}

function open() {
  return listening(connect(Number(new URL(proxy.url).port), '127.0.0.1'));
}

function listening(socket: Socket) {
  ends.push(socket);
  const heard = { socket, bytes: [] as number[], endedBy: null as 'end' | 'error' | null };
  socket.on('data', (data) => heard.bytes.push(...data));
  socket.on('end', () => (heard.endedBy ??= 'end'));
  socket.on('error', () => (heard.endedBy ??= 'error'));
  return heard;
}

const numbered = (count: number) => Buffer.from(Array.from({ length: count }, (_, n) => n % 251));

it('hands everything on in order and ends as its ends do', async () => {
  const { near, far } = await joined();
  near.socket.end(numbered(300_000));
  await expect.poll(() => far.endedBy).toBe('end');
  expect(Buffer.from(far.bytes).equals(numbered(300_000))).toBe(true);
  expect(proxy.bytes('up')).toBe(300_000);
});

it('passes no more than its rate, all connections together, and delays what passes', async () => {
  const pairs = [await joined(), await joined()];
  proxy.shape({ bytesPerS: 100_000, delayMs: 100 }, ['up']);
  const startMs = performance.now();
  for (const { near } of pairs) near.socket.end(numbered(50_000));
  for (const { far } of pairs) await expect.poll(() => far.endedBy, { interval: 10 }).toBe('end');
  expect(performance.now() - startMs).toBeGreaterThan(1_000);
  for (const { far } of pairs) expect(Buffer.from(far.bytes).equals(numbered(50_000))).toBe(true);
});

it('does not read what it may not hand on: the sender feels it', async () => {
  const { near } = await joined();
  proxy.shape({ bytesPerS: 1_000, delayMs: 0 });
  // More than the kernel holds of a connection.
  const taken = near.socket.write(Buffer.alloc(32 * 1024 * 1024));
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(taken).toBe(false);
  expect(near.socket.writableLength).toBeGreaterThan(0);
});

it('stalled, lets nothing through and closes nothing; mended, all of it comes', async () => {
  const { near, far } = await joined();
  proxy.stall();
  near.socket.end(numbered(1_000));
  const late = open();
  const gaveUp = open();
  late.socket.write('late');
  gaveUp.socket.write('gave up');
  await once(gaveUp.socket, 'connect');
  await expect.poll(() => proxy.accepted).toBe(3);
  gaveUp.socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect([far.bytes.length, far.endedBy]).toEqual([0, null]);
  const next = once(server, 'connection') as Promise<[Socket]>;
  proxy.mend();
  await expect.poll(() => far.endedBy).toBe('end');
  expect(far.bytes).toHaveLength(1_000);
  const lateFar = listening((await next)[0]);
  await expect.poll(() => Buffer.from(lateFar.bytes).toString()).toBe('late');
});

it('stalled, tells nobody of an end that comes after all was handed on, nor of a reset', async () => {
  const ended = await joined();
  const reset = await joined();
  ended.near.socket.write('all');
  reset.near.socket.write('all');
  await expect.poll(() => [ended.far.bytes.length, reset.far.bytes.length]).toEqual([3, 3]);
  proxy.stall();
  ended.near.socket.destroy();
  reset.near.socket.resetAndDestroy();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect([ended.far.endedBy, reset.far.endedBy]).toEqual([null, null]);
  proxy.mend();
  await expect.poll(() => [ended.far.endedBy, reset.far.endedBy]).toEqual(['end', 'error']);
});

it('forgotten connections are dead without a word, new ones work', async () => {
  const old = await joined();
  proxy.forget();
  old.near.socket.write('up');
  old.far.socket.write('down');
  old.near.socket.end();
  const fresh = await joined();
  fresh.near.socket.write('new');
  await expect.poll(() => Buffer.from(fresh.far.bytes).toString()).toBe('new');
  expect([old.far.bytes, old.near.bytes, old.far.endedBy]).toEqual([[], [], null]);
});

it('cut, resets both ends and refuses', async () => {
  const { near, far } = await joined();
  proxy.cut();
  await expect.poll(() => [near.endedBy, far.endedBy]).toEqual(['error', 'error']);
  const refused = open();
  await expect.poll(() => refused.endedBy).toBe('error');
});

it.each(['robot', 'cloud'] as const)(
  'half-open, resets the %s’s end and does not tell the other; new ones work',
  async (end) => {
    const { near, far } = await joined();
    const [told, other] = end === 'robot' ? [near, far] : [far, near];
    proxy.halfOpen(end);
    await expect.poll(() => told.endedBy).toBe('error');
    other.socket.write('to nobody');
    const fresh = await joined();
    fresh.near.socket.write('new');
    await expect.poll(() => Buffer.from(fresh.far.bytes).toString()).toBe('new');
    expect(other.endedBy).toBeNull();
    proxy.reset();
    await expect.poll(() => other.endedBy).toBe('error');
  },
);
