import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SessionEnding } from '@drover/shared/api/link';
import { CloseCode, FRAME_BYTES_MAX, LINK_PATH, LINK_SUBPROTOCOL, YIELD_HEADER } from '@drover/shared/link/protocol';
import type { Logger } from 'pino';
import { WebSocketServer, type Server as WebSocketServerOf } from 'ws';
import type { Bus } from '../bus/bus.js';
import type { RobotRef } from '../robots/robots.js';
import { Admission, type AdmissionBounds, type Caller, type Place } from './admission.js';
import { Connection, RobotSocket } from './connection.js';
import { Presence, type PresenceStore, type UnstoredChanges } from './presence.js';
import type { SessionRegistry } from './registry.js';
import { Seldom } from './seldom.js';
import { RobotSession, type SessionOptions } from './session.js';
import type { SessionPorts } from './session-ports.js';

/** Sessions are looked at this often for pings and silence: one timer for all. */
const TICK_MS = 1_000;

/** That robots are refused is said this often. */
const CROWDED_SAID_MS = 10_000;

/** So is that tokens are: anybody can send those. */
const BAD_TOKEN_SAID_MS = 1_000;

/** A stopping gateway waits this long for robots to answer its close before it hangs up. */
const STOP_GRACE_MS = 1_000;

export interface GatewayOptions {
  registry: SessionRegistry;
  bus: Bus;
  robots: SessionPorts['robots'] & PresenceStore & { authenticateToken(token: string): Promise<RobotRef | undefined> };
  desired: SessionPorts['desired'];
  data: SessionPorts['data'];
  commands: SessionPorts['commands'];
  streams: SessionPorts['streams'];
  compose: SessionPorts['compose'];
  links: SessionPorts['links'] & { ended(robot: RobotRef, ending: SessionEnding, atMs: number): void };
  /** Where presence keeps what the store has not taken yet, for those who show it. */
  unstoredPresence?: UnstoredChanges;
  log: Logger;
  now: () => number;
  /** Milliseconds that only go forward: what tells silence must not take a clock that was set for it. */
  monotonicNow: () => number;
  /** Tests only wait as long as they must. */
  timings?: { helloTimeoutMs: number; resetGraceMs: number; startGraceMs: number };
  admission?: Partial<AdmissionBounds>;
  /** A robot was told to come later: more came at once than can be opened. */
  onRefused?: () => void;
}

/** Holds robots' websocket sessions: upgrade and authentication, one session a robot, liveness, presence. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #log: Logger;
  readonly #presence: Presence;
  readonly #admission: Admission;
  readonly #sockets: WebSocketServerOf<typeof RobotSocket>;
  /** What all sessions share. */
  readonly #ofSessions: SessionOptions;
  /** Connections that have not said hello yet, and all others: for ticks and for stopping. */
  readonly #sessions = new Set<RobotSession>();
  readonly #unsubscribe: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #stopping = false;
  /** Tokens that were good and are not any more: so many so far. */
  #revocations = 0;
  readonly #crowded: Seldom;
  readonly #badTokens: Seldom;
  #allEnded: (() => void) | undefined;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#log = options.log.child({ part: 'gateway' });
    const { robots: store, unstoredPresence: unstored = new Map(), now, monotonicNow, timings } = options;
    this.#presence = new Presence({ store, unstored, log: this.#log, now, monotonicNow, ...timings });
    this.#crowded = new Seldom(CROWDED_SAID_MS, monotonicNow);
    this.#badTokens = new Seldom(BAD_TOKEN_SAID_MS, monotonicNow);
    const bounds = options.admission ?? {};
    this.#admission = new Admission({ monotonicNow, bounds, onRefused: () => this.#refused() });
    this.#sockets = new WebSocketServer<typeof RobotSocket>({
      noServer: true,
      // Deflate costs 18 times the memory a session (docs/decisions.md).
      perMessageDeflate: false,
      maxPayload: FRAME_BYTES_MAX,
      // Connection answers pings.
      autoPong: false,
      handleProtocols: () => LINK_SUBPROTOCOL,
      WebSocket: RobotSocket,
      // We know them ourselves.
      clientTracking: false,
    });
    this.#ofSessions = {
      ...options,
      ...(timings && { helloTimeoutMs: timings.helloTimeoutMs }),
      log: this.#log,
      admit: (session) => this.#admit(session),
      gone: (session, ending) => this.#gone(session, ending),
    };
  }

  async start(): Promise<void> {
    const { bus, registry } = this.#options;
    this.#unsubscribe.push(
      bus.subscribe('desired_changed', ({ robotKey }) => registry.get(robotKey)?.desiredChanged()),
      bus.subscribe('command_waiting', ({ robotKey }) => registry.get(robotKey)?.commandsWaiting()),
      bus.subscribe('robot_revoked', ({ robotKey }) => {
        this.#revocations += 1;
        // Also those that have not said hello yet: their token was good when they connected.
        for (const session of this.#sessions) {
          if (session.robot.key !== robotKey) continue;
          session.close(CloseCode.revoked, 'this robot was deleted or its token replaced');
        }
      }),
    );
    await this.#presence.start();
    this.#timer = setInterval(() => {
      const nowMs = this.#options.monotonicNow();
      for (const session of this.#sessions) session.tick(nowMs);
    }, TICK_MS).unref();
  }

  /** Answers the upgrade requests of `server`. */
  attach(server: Server): void {
    // Made once: it stays with the socket, and one made below would keep the request and its headers there as well.
    const onError = (error: Error) => this.#log.debug({ err: error }, 'upgrade socket error');
    server.on('upgrade', (request, socket, head) => {
      socket.on('error', onError);
      if (this.#stopping) return refuse(socket, 503, 'unavailable', 'the cloud is stopping');
      if (!(socket instanceof Socket)) return refuse(socket, 400, 'invalid_request', 'websockets come over TCP here');
      if (pathOf(request) !== LINK_PATH) {
        return refuse(socket, 404, 'not_found', `no websocket at this path; robots connect to ${LINK_PATH}`);
      }
      const refused = (retryAfterS: number) => {
        const why = this.#stopping ? 'the cloud is stopping' : 'more robots come at once than can be taken; try again';
        refuse(socket, 503, 'unavailable', why, retryAfterS);
      };
      this.#admission
        .enter(socket, () => this.#identified(request, socket, head, refused), refused)
        .catch((error: unknown) => this.#failed(socket, error));
    });
  }

  /** Closes every session with "going away" and waits for them to end, at most STOP_GRACE_MS. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#admission.stop();
    clearInterval(this.#timer);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    const presenceStored = this.#presence.stop();
    for (const session of this.#sessions) session.close(CloseCode.goingAway, 'the cloud is stopping');
    const deadline = setTimeout(() => {
      for (const session of this.#sessions) session.terminate();
    }, STOP_GRACE_MS);
    if (this.#sessions.size > 0) await new Promise<void>((resolve) => (this.#allEnded = resolve));
    clearTimeout(deadline);
    await presenceStored;
    this.#sockets.close();
  }

  /** What opens the robot's session; undefined, and a 401, where there is none with this token. */
  async #identified(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    refused: Caller['refuse'],
  ): Promise<Caller | undefined> {
    const revocations = this.#revocations;
    const known = await this.#authenticate(request, socket);
    if (!known) return undefined;
    this.#presence.comes(known.key);
    return {
      robotKey: known.key,
      open: (place) => this.#upgrade({ known, revocations }, request, socket, head, place),
      refuse: (retryAfterS) => {
        this.#presence.comes(known.key, retryAfterS * 1000);
        refused(retryAfterS);
      },
    };
  }

  #upgrade(
    { known, revocations }: { known: RobotRef; revocations: number },
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    place: Place,
  ): void {
    const open = async () => {
      // It may have been this one's token, while it waited in line.
      const robot = revocations === this.#revocations ? known : await this.#authenticate(request, socket);
      return robot !== undefined && this.#accept(robot, request, socket, head, place);
    };
    open().then(
      (isOpen) => !isOpen && place.leave(),
      (error: unknown) => {
        place.leave();
        this.#failed(socket, error);
      },
    );
  }

  #failed(socket: Socket, error: unknown): void {
    this.#log.error({ err: error }, 'upgrade failed');
    refuse(socket, 503, 'unavailable', 'the cloud can not take this robot now; try again');
  }

  /** Makes a websocket of it; false where it is answered otherwise, or gone. */
  #accept(robot: RobotRef, request: IncomingMessage, socket: Socket, head: Buffer, place: Place): boolean {
    if (this.#stopping) {
      refuse(socket, 503, 'unavailable', 'the cloud is stopping');
      return false;
    }
    // Else two agents with one token would replace each other without end.
    if (request.headers[YIELD_HEADER] !== undefined && this.#options.registry.get(robot.key)) {
      refuse(socket, 409, 'robot_connected', 'another agent is connected with this robot’s token');
      return false;
    }
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
    if (!offered.includes(LINK_SUBPROTOCOL)) {
      refuse(socket, 400, 'invalid_request', `the websocket subprotocol must be ${LINK_SUBPROTOCOL}`);
      return false;
    }
    let isOpen = false;
    // Calls back in this turn, or refuses the handshake.
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      isOpen = true;
      this.#open(robot, webSocket, socket, place);
    });
    return isOpen;
  }

  /** The robot with this token; undefined, and a 401, where there is none. */
  async #authenticate(request: IncomingMessage, socket: Socket): Promise<RobotRef | undefined> {
    const [, token] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    const robot = token === undefined ? undefined : await this.#options.robots.authenticateToken(token);
    if (robot) return robot;
    const refused = this.#badTokens.came();
    if (refused > 0) this.#log.warn({ remote: socket.remoteAddress, refused }, 'robot refused: no valid token');
    refuse(socket, 401, 'unauthenticated', 'the robot token is missing or not valid');
    return undefined;
  }

  #open(robot: RobotRef, webSocket: RobotSocket, stream: Socket, place: Place): void {
    const connection = new Connection(webSocket, stream, robot.id, this.#log, this.#options.monotonicNow());
    const session = new RobotSession(robot, connection, this.#ofSessions, place);
    connection.tell(session);
    this.#sessions.add(session);
  }

  #admit(session: RobotSession): void {
    const older = this.#options.registry.take(session);
    older?.close(CloseCode.replaced, 'a newer session of this robot took over');
    this.#presence.opened(session.robot.key);
  }

  #gone(session: RobotSession, ending: SessionEnding): void {
    this.#sessions.delete(session);
    if (this.#sessions.size === 0) this.#allEnded?.();
    if (!this.#options.registry.release(session)) return;
    this.#options.links.ended(session.robot, ending, this.#options.now());
    if (this.#stopping) return;
    this.#log.info({ robot: session.robot.id, ending }, 'robot disconnected');
    this.#presence.closed(session.robot.key, ending);
  }

  #refused(): void {
    this.#options.onRefused?.();
    if (this.#stopping) return;
    const refused = this.#crowded.came();
    if (refused > 0) this.#log.warn({ refused }, 'more robots come at once than can be opened: told to come later');
  }
}

function pathOf(request: IncomingMessage): string | undefined {
  return request.url?.split('?', 1)[0];
}

/** Answers an upgrade request with an error in the API's own form, before any websocket exists. */
function refuse(socket: Duplex, status: number, errorCode: string, message: string, retryAfterS?: number): void {
  const body = JSON.stringify({ error_code: errorCode, message });
  // `end` alone leaves it to the peer when the socket goes.
  socket.once('finish', () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\n` +
      (retryAfterS === undefined ? '' : `Retry-After: ${retryAfterS}\r\n`) +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
