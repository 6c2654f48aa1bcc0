import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LINK_PATH, LINK_SUBPROTOCOL } from '@drover/shared/link/protocol';
import { WebSocketServer } from 'ws';

export interface CloudFixtureOptions {
  /** Path under which a proxy would serve the cloud, without a trailing slash. */
  readonly base?: string;
  /** What upgrades are answered with instead of a websocket. */
  readonly refuseWith?: number;
  /** Added to the Date header. */
  readonly clockAheadMs?: number;
  /** What answers instead of /healthz. */
  readonly answer?: RequestListener;
}

/** As much of a cloud as doctor meets: /healthz and the upgrade, on a free port, both real. */
export class CloudFixture {
  readonly upgrades: { url: string | undefined; headers: IncomingHttpHeaders }[] = [];
  /** Frames that arrived on websockets: doctor must never say hello. */
  messages = 0;
  /** Close codes of the websockets. */
  readonly closed: number[] = [];
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, handleProtocols: () => LINK_SUBPROTOCOL });
  readonly #base: string;

  private constructor({ base = '', refuseWith, clockAheadMs = 0, answer }: CloudFixtureOptions) {
    this.#base = base;
    this.#server = createServer((request, response) => {
      if (answer) return answer(request, response);
      if (request.url !== `${base}/healthz`) return void response.writeHead(404).end();
      response.setHeader('date', new Date(Date.now() + clockAheadMs).toUTCString());
      response.end('{"status":"ok"}');
    });
    this.#server.on('upgrade', (request, socket, head) => {
      this.upgrades.push({ url: request.url, headers: request.headers });
      const status = refuseWith ?? (request.url === `${base}${LINK_PATH}` ? 101 : 404);
      if (status !== 101) return socket.end(`HTTP/1.1 ${status} No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
        webSocket.on('message', () => {
          this.messages += 1;
        });
        webSocket.on('close', (code) => this.closed.push(code));
      });
    });
  }

  static async start(options: CloudFixtureOptions = {}): Promise<CloudFixture> {
    const cloud = new CloudFixture(options);
    cloud.#server.listen(0, '127.0.0.1');
    await once(cloud.#server, 'listening');
    return cloud;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${this.#base}`;
  }

  async stop(): Promise<void> {
    this.#sockets.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
