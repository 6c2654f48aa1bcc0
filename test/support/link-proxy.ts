import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { FREE, type LineShape, ProxyLane, Wire } from './proxy-wire.js';

/** `up`: from the robot to the cloud. */
export type Direction = 'up' | 'down';
const BOTH: readonly Direction[] = ['up', 'down'];
/** Who is at an end of a connection. */
export type End = 'robot' | 'cloud';

/** What a proxy's own sockets hold in this process; the kernel's buffers come on top (see proxy-wire.ts). */
const SOCKET_BUFFER_BYTES = 4 * 1024;

/**
 * A TCP proxy between agents and cloud whose line a test can
 * - `cut` (every connection is reset, new ones are refused),
 * - `stall` (nothing passes, nothing closes, no connection comes about: a cable pulled out), in both directions or one,
 * - `halfOpen` (one end of each connection is reset, the other not told),
 * - `forget` (the connections there are go dead without a word, new ones work: a NAT that lost its table),
 * - `shape` (bytes a second and delay, for all connections together).
 * Bytes are never lost or reordered within a connection.
 */
export class LinkProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The same by the side that they lead to. */
  readonly #ends: Record<End, Set<Socket>> = { robot: new Set(), cloud: new Set() };
  /** Accepted while the line is stalled: what they say reaches nobody, and those that give up are never heard of. */
  readonly #held = new Set<Socket>();
  readonly #wires: Record<Direction, Wire> = { up: new Wire(), down: new Wire() };
  readonly #lanes = new Set<ProxyLane>();
  #target: { host: string; port: number };
  #up = true;
  #accepted = 0;

  private constructor(server: Server, targetUrl: string) {
    this.#server = server;
    const { hostname, port } = new URL(targetUrl);
    this.#target = { host: hostname, port: Number(port) };
  }

  static async start(targetUrl: string): Promise<LinkProxy> {
    const server = createServer({ highWaterMark: SOCKET_BUFFER_BYTES, allowHalfOpen: true });
    const proxy = new LinkProxy(server, targetUrl);
    server.on('connection', (near) => proxy.#join(near));
    server.listen(0, '127.0.0.1', 4096);
    await once(server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Connections ever accepted: how often agents have tried. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Bytes handed on so far. */
  bytes(direction: Direction): number {
    return this.#wires[direction].bytes;
  }

  /** Resets every connection and refuses new ones until `mend`. */
  cut(): void {
    this.#up = false;
    this.reset();
  }

  /** Resets every connection; new ones are let through. */
  reset(): void {
    for (const lane of this.#lanes) lane.abandon();
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Lets nothing through from now on, without closing anything: a cable pulled out. */
  stall(directions: readonly Direction[] = BOTH): void {
    for (const direction of directions) this.#wires[direction].stalled = true;
  }

  /** The connections there are go dead for ever, without a FIN or a reset to either side; new ones work. */
  forget(): void {
    for (const lane of this.#lanes) lane.abandon();
  }

  /** Resets one end of every connection without a word to the other, as a side that was switched off and on; new ones work. */
  halfOpen(end: End): void {
    this.forget();
    for (const socket of this.#ends[end]) socket.resetAndDestroy();
  }

  /** How fast and how late everything passes from now on; `FREE` = as it comes. */
  shape(shape: LineShape, directions: readonly Direction[] = BOTH): void {
    for (const direction of directions) this.#wires[direction].shape(shape);
  }

  /** Ends a cut and a stall; the shape stays. */
  mend(): void {
    this.#up = true;
    for (const wire of Object.values(this.#wires)) wire.stalled = false;
    for (const near of [...this.#held]) this.#release(near);
    for (const lane of this.#lanes) lane.wake();
  }

  async stop(): Promise<void> {
    this.cut();
    this.shape(FREE);
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(near: Socket): void {
    this.#accepted += 1;
    this.#track(near, 'robot');
    if (!this.#up) near.resetAndDestroy();
    else if (this.#wires.up.stalled || this.#wires.down.stalled) this.#hold(near);
    else this.#connect(near);
  }

  #track(socket: Socket, end: End): void {
    this.#sockets.add(socket);
    this.#ends[end].add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#sockets.delete(socket);
      this.#ends[end].delete(socket);
      this.#held.delete(socket);
    });
  }

  /** Reading is what tells of a FIN; the few bytes of an upgrade request are given back. */
  #hold(near: Socket): void {
    this.#held.add(near);
    const said: Buffer[] = [];
    const listen = (data: Buffer) => said.push(data);
    near.on('data', listen);
    near.once('end', () => {
      if (this.#held.has(near)) near.destroy();
    });
    near.once('released', () => {
      near.off('data', listen);
      near.pause();
      for (const data of said.reverse()) near.unshift(data);
    });
  }

  #release(near: Socket): void {
    this.#held.delete(near);
    if (near.destroyed || near.readableEnded) return;
    near.emit('released');
    this.#connect(near);
  }

  #connect(near: Socket): void {
    const far = connect({ ...this.#target, allowHalfOpen: true });
    this.#track(far, 'cloud');
    for (const [from, to, wire] of [
      [near, far, this.#wires.up],
      [far, near, this.#wires.down],
    ] as const) {
      const lane = new ProxyLane(from, to, wire);
      this.#lanes.add(lane);
      // Not when `from` closes: on a stalled line that is yet to be told.
      to.on('close', () => this.#lanes.delete(lane));
    }
  }
}
