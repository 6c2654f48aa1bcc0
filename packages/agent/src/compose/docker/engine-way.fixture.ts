import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { tempDataDir } from '../../spool/fixture.js';

/** A way to the machine's Docker Engine that can be closed and opened: to whoever goes it, the engine ends and comes back. */
export class EngineWay {
  readonly #socket = join(tempDataDir(), 'docker.sock');
  readonly #open = new Set<Socket>();
  readonly #isMute: boolean;
  #server: Server | null = null;

  /** @param options `isMute`: whoever asks for the engine's events gets no answer. */
  constructor({ isMute = false } = {}) {
    this.#isMute = isMute;
    onTestFinished(() => this.close());
  }

  get host(): string {
    return `unix://${this.#socket}`;
  }

  async open(): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#connected(socket));
    this.#server = server;
    server.listen(this.#socket);
    await once(server, 'listening');
  }

  /** As an engine that is asked to end does at first: whoever has a connection is answered still, nobody gets a new one. */
  shut(): void {
    this.#server?.close();
    this.#server = null;
  }

  close(): void {
    this.shut();
    for (const socket of this.#open) socket.destroy();
  }

  #connected(socket: Socket): void {
    const host = process.env.DOCKER_HOST || 'unix:///var/run/docker.sock';
    const engine = connect({ path: host.replace('unix://', ''), allowHalfOpen: true });
    for (const end of [socket, engine]) {
      this.#open.add(end);
      end.on('error', () => {});
      end.on('close', () => this.#open.delete(end));
    }
    engine.pipe(socket);
    socket.once('data', (begin: Buffer) => {
      // Each request of ours has a connection of its own.
      if (this.#isMute && /^GET \S*\/events/.test(begin.toString())) return void socket.resume();
      engine.write(begin);
      socket.pipe(engine);
    });
    socket.on('close', () => engine.destroy());
    engine.on('close', () => socket.destroy());
  }
}
