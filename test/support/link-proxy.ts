import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy between agent and cloud whose line a test can cut (resets) or stall (nothing passes, nothing closes). */
export class LinkProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: { host: string; port: number };
  #up = true;
  #stalled = false;

  private constructor(server: Server, targetUrl: string) {
    this.#server = server;
    const { hostname, port } = new URL(targetUrl);
    this.#target = { host: hostname, port: Number(port) };
  }

  static async start(targetUrl: string): Promise<LinkProxy> {
    const server = createServer();
    const proxy = new LinkProxy(server, targetUrl);
    server.on('connection', (near) => proxy.#join(near));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resets every connection and refuses new ones until `mend`. */
  cut(): void {
    this.#up = false;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Lets nothing through from now on, without closing anything: a cable pulled out. */
  stall(): void {
    this.#stalled = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Lets connections through again. */
  mend(): void {
    this.#up = true;
    this.#stalled = false;
    for (const socket of this.#sockets) socket.resume();
  }

  async stop(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(near: Socket): void {
    if (!this.#up) {
      near.resetAndDestroy();
      return;
    }
    const far = connect(this.#target);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.on('data', (data) => to.write(data));
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#stalled) from.pause();
    }
  }
}
