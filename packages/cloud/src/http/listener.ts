/** The server's socket: listens, says where, and stops without cutting off who is being answered. */
import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Nobody should need longer to send a request's head, or all of it. */
const HEADERS_TIMEOUT_MS = 20_000;
const REQUEST_TIMEOUT_MS = 60_000;

/**
 * An idle connection is kept this long: longer than clients and proxies (mostly 60 s) keep theirs, so that it is they who close it.
 * With Node's 5 s a busy process closes connections on which the next request waits to be read, which then fails unanswered.
 */
const KEEP_ALIVE_MS = 75_000;

/**
 * A connection is closed after this many requests. Node reads pipelined requests as fast as they come, so without a bound
 * one connection could keep everybody else waiting for as long as it likes.
 */
const REQUESTS_PER_CONNECTION_MAX = 1_000;

/**
 * Connections that the kernel holds until they are accepted, which Node does one a turn of the event loop. More than its 511, which
 * thousands of robots fill at once; no more than are accepted before their agents give up.
 */
const BACKLOG = 1_024;

export class ListenError extends Error {
  override readonly name = 'ListenError';
  constructor(
    readonly code: string | undefined,
    message: string,
    cause: unknown,
  ) {
    super(message, { cause });
  }
}

export class Listener {
  readonly #server: Server;
  readonly #options: { host: string; port: number; drainMs: number };
  #url = '';
  /** Requests being answered. */
  #active = 0;
  #drained: (() => void) | undefined;
  /** The newest answer of each connection. */
  readonly #lastAnswers = new WeakMap<Duplex, ServerResponse>();

  constructor(server: Server, options: { host: string; port: number; drainMs: number }) {
    this.#server = server;
    this.#options = options;
    server.headersTimeout = HEADERS_TIMEOUT_MS;
    server.requestTimeout = REQUEST_TIMEOUT_MS;
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    server.maxRequestsPerSocket = REQUESTS_PER_CONNECTION_MAX;
    server.on('request', (request, response) => {
      this.#active += 1;
      this.#lastAnswers.set(request.socket, response);
      response.once('close', () => {
        this.#active -= 1;
        if (this.#active === 0) this.#drained?.();
      });
    });
    // It was told that this is the end, and would otherwise be left to itself for KEEP_ALIVE_MS.
    server.on('dropRequest', (_request, socket) => {
      const last = this.#lastAnswers.get(socket);
      if (last === undefined) return;
      this.#lastAnswers.delete(socket);
      const hangUp = () => void socket.end(() => socket.destroy());
      if (last.closed) hangUp();
      else last.once('close', hangUp);
    });
  }

  /** Where it can be reached; once started. */
  get url(): string {
    return this.#url;
  }

  /** @throws ListenError with what to change */
  async start(): Promise<void> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (error: NodeJS.ErrnoException) => reject(explained(error, host, port)));
      this.#server.listen({ port, host, backlog: BACKLOG }, resolve);
    });
    const address = this.#server.address();
    const bound = typeof address === 'object' && address !== null ? address.port : port;
    const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
    this.#url = `http://${name.includes(':') ? `[${name}]` : name}:${bound}`;
  }

  /**
   * Takes nothing new, lets requests finish for `drainMs` at most, then closes what is left. Connections that became
   * websockets are their owner's: the server's own `close` would wait for them.
   */
  async stop(): Promise<void> {
    this.#server.close();
    if (this.#active > 0) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve;
        setTimeout(resolve, this.#options.drainMs).unref();
      });
    }
    this.#server.closeAllConnections();
  }
}

function explained(error: NodeJS.ErrnoException, host: string, port: number): ListenError {
  const remedies: Record<string, string> = {
    EADDRINUSE: `port ${port} of ${host} is in use: stop what listens there, or set DROVER_PORT to another (0 = any free one)`,
    EACCES: `port ${port} may not be used by this user: set DROVER_PORT to one above 1023`,
    EADDRNOTAVAIL: `${host} is no address of this machine: set DROVER_HOST (127.0.0.1, or 0.0.0.0 for all)`,
    ENOTFOUND: `${host} is no address: set DROVER_HOST (127.0.0.1, or 0.0.0.0 for all)`,
  };
  const message = remedies[error.code ?? ''] ?? `can not listen on ${host}:${port}: ${error.message}`;
  return new ListenError(error.code, message, error);
}
