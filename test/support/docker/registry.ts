import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transform } from 'node:stream';

/** Who may use a closed registry. The hash is bcrypt's, of the password. */
export const LOGIN = {
  user: 'rover',
  password: 'drive',
  hash: '$2b$04$EUwqeVt598f/tXXmez/ABubX9.BNuo99WvVuoWVN8LaRWQQeOCIAS',
};

/**
 * A real registry (Debian's docker-registry) on loopback, which an engine on this machine trusts without TLS, behind a door of
 * ours that can slow it down, or shut. Images named `${registry.address}/…` belong to it.
 */
export class TestRegistry {
  readonly #folder = mkdtempSync(join(tmpdir(), 'drover-registry-'));
  readonly #door: Server;
  readonly #through = new Set<Socket>();
  #process: ChildProcess;
  #port = 0;
  /** Bytes a second towards the engine; Infinity = as fast as it goes. */
  bytesPerSecond = Number.POSITIVE_INFINITY;
  address = '';

  private constructor(closed: boolean) {
    const config = join(this.#folder, 'config.json');
    const logins = join(this.#folder, 'htpasswd');
    writeFileSync(logins, `${LOGIN.user}:${LOGIN.hash}\n`);
    const settings = {
      version: 0.1,
      log: { level: 'info', formatter: 'json' },
      storage: { filesystem: { rootdirectory: join(this.#folder, 'data') } },
      http: { addr: '127.0.0.1:0' },
      ...(closed ? { auth: { htpasswd: { realm: 'robots', path: logins } } } : {}),
    };
    // JSON is YAML.
    writeFileSync(config, JSON.stringify(settings));
    this.#process = spawn('docker-registry', ['serve', config], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#door = createServer((socket) => this.#enter(socket));
  }

  /** @param closed only LOGIN may use it; by default everybody */
  static async start({ closed = false } = {}): Promise<TestRegistry> {
    const registry = new TestRegistry(closed);
    registry.#port = await registry.#listening();
    registry.#door.listen(0, '127.0.0.1');
    await once(registry.#door, 'listening');
    const address = registry.#door.address();
    if (address === null || typeof address === 'string') throw new Error('the registry has no port');
    registry.address = `127.0.0.1:${address.port}`;
    return registry;
  }

  /** The port that the registry says it listens on. */
  async #listening(): Promise<number> {
    let said = '';
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        this.#process.emit('said');
      });
    }
    const ended = once(this.#process, 'exit').then(() => true);
    for (;;) {
      const port = /listening on 127\.0\.0\.1:(\d+)/.exec(said)?.[1];
      if (port !== undefined) return Number(port);
      const over = await Promise.race([ended, once(this.#process, 'said').then(() => false)]);
      if (over) throw new Error(`docker-registry ended:\n${said}`);
    }
  }

  #enter(socket: Socket): void {
    const inner = connect(this.#port, '127.0.0.1');
    const slowly = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        setTimeout(done, (chunk.length / this.bytesPerSecond) * 1000, null, chunk);
      },
    });
    socket.pipe(inner).pipe(slowly).pipe(socket);
    // An engine asks with `Connection: close`: the registry's end of it comes before the slow rest has gone through.
    inner.on('error', () => socket.destroy());
    socket
      .on('error', () => socket.destroy())
      .on('close', () => {
        inner.destroy();
        this.#through.delete(socket);
      });
    this.#through.add(socket);
  }

  /** From now on connections are refused, and those that there are break off. */
  async shut(): Promise<void> {
    const closed = once(this.#door, 'close');
    this.#door.close();
    for (const socket of this.#through) socket.destroy();
    await closed;
  }

  async open(): Promise<void> {
    this.#door.listen(Number(this.address.split(':')[1]), '127.0.0.1');
    await once(this.#door, 'listening');
  }

  async stop(): Promise<void> {
    if (this.#door.listening) await this.shut();
    const exited = once(this.#process, 'exit');
    if (this.#process.kill('SIGTERM')) await exited;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
