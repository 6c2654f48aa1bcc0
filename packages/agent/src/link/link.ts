import type { ClockReply } from '@drover/shared/link/clock';
import type { DownMessage } from '@drover/shared/link/down';
import type { Hello } from '@drover/shared/link/hello';
import { CloseCode, LINK_VERSION, LINK_VERSION_OLDEST_CLOUD } from '@drover/shared/link/protocol';
import type { UpMessage } from '@drover/shared/link/up';
import type { Welcome } from '@drover/shared/link/welcome';
import type { Logger } from 'pino';
import type { CloudClock } from './cloud-clock.js';
import { type LinkEnd, planRetry, SETTLED_AFTER_MS } from './retry.js';
import { Session } from './session.js';
import { LINK_TIMING, type LinkTiming } from './timing.js';

/** Asked at the beginning of a session, one after the other, before the slow rhythm. */
const CLOCK_REQUESTS_FIRST = 3;
/** Requests whose answer is waited for; an answer older than that tells nothing. */
const CLOCK_REQUESTS_OPEN_MAX = 4;

/** What the cloud may say once the session stands, the clock's answers left out: those are the link's own. */
export type Instruction = Exclude<DownMessage, Welcome | ClockReply>;

/** What a capability may say while a session stands. Never throws; a message after the session's end goes nowhere. */
export interface Uplink {
  /** With a key, the message takes the place of one that waits under the same key. */
  send(message: UpMessage, key?: string | null): void;
}

/** Those who use the link. */
export interface LinkClient {
  /** Who we are and what our disk remembers, asked at every connect. `linkVersion`: what the cloud is spoken to in. */
  hello(linkVersion: number): Hello;
  /** A session stands. Returns why it must be opened anew (an identity said in hello has changed), or null. */
  opened(uplink: Uplink, welcome: Welcome): string | null;
  receive(instruction: Instruction): void;
  /** The session that was opened is over. */
  closed(): void;
}

export interface LinkOptions {
  readonly url: string;
  /** Read at every connect. Throws where it can't be read; the message must not hold the token. */
  readonly token: () => string;
  readonly client: LinkClient;
  readonly clock: CloudClock;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
  readonly wallNow: () => number;
  readonly random: () => number;
  readonly log: Logger;
  readonly timing?: Partial<LinkTiming>;
}

/**
 * Keeps one session to the cloud, for as long as the agent runs:
 *
 *     start() --> attempt --> session --> (ended) --> wait --> attempt …      stop() ends it anywhere
 *
 * Waits and words come from retry.ts. Nothing is kept here across sessions: what must arrive is in the inbox or the
 * spool until the cloud has acknowledged it.
 */
export class Link {
  readonly #options: LinkOptions;
  readonly #timing: LinkTiming;
  readonly #log: Logger;
  #session: Session | null = null;
  #running: Promise<void> | null = null;
  #stopped = false;
  #wake: () => void = () => {};
  #failures = 0;
  #yielding = false;
  /** What hello says: a lower one where the cloud has refused the one above it. */
  #linkVersion = LINK_VERSION;
  #clockRequests = new Map<number, number>();
  #clockFirstLeft = 0;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#timing = { ...LINK_TIMING, ...options.timing };
    this.#log = options.log.child({ part: 'link' });
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Closes the session in order (going away) and waits for its end. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#session?.close(CloseCode.goingAway, 'the agent is stopping');
    this.#wake();
    await this.#running;
  }

  /** Opens the session anew, because what hello said is no longer true. */
  renew(reason: string): void {
    this.#session?.close(1000, reason, { kind: 'renew', reason });
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const { end, stoodMs } = await this.#attempt();
      if (this.#stopped) return;
      this.#failures = stoodMs >= SETTLED_AFTER_MS ? 1 : this.#failures + 1;
      // Until a welcome, whatever keeps us away meanwhile: the other agent may still be there.
      this.#yielding ||=
        (end.kind === 'closed' && end.code === CloseCode.replaced) || (end.kind === 'refused' && end.status === 409);
      const plan = planRetry(end, this.#failures, this.#options.random());
      const told = end.kind === 'refused' && end.retryAfterS != null && { retryAfterS: end.retryAfterS };
      this.#log[plan.level]({ retryInMs: Math.round(plan.delayMs), ...told }, plan.message);
      await this.#sleep(plan.delayMs * this.#timing.retryFactor);
    }
  }

  async #attempt(): Promise<{ end: LinkEnd; stoodMs: number }> {
    let token: string;
    try {
      token = this.#options.token();
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'the token can not be read';
      return { end: { kind: 'unreachable', reason }, stoodMs: 0 };
    }
    const { client, url } = this.#options;
    let openedMs: number | null = null;
    let clockTimer: NodeJS.Timeout | undefined;
    let helloSentMs = 0;
    const session = new Session({
      url,
      token,
      yielding: this.#yielding,
      timing: this.#timing,
      monotonicNow: this.#options.monotonicNow,
      hello: () => {
        helloSentMs = this.#options.monotonicNow();
        return client.hello(this.#linkVersion);
      },
      onWelcome: (welcome) => {
        this.#yielding = false;
        this.#log.info({ robot: welcome.robot_id, link: welcome.link_version }, 'connected');
        const cloudMs = welcome.cloud_now_ms;
        const receivedMs = this.#options.monotonicNow();
        const times = { sentMs: helloSentMs, receivedMs, cloudReceivedMs: cloudMs, cloudSentMs: cloudMs };
        this.#options.clock.add(times);
        openedMs = receivedMs;
        const renewal = this.#call('opened', () => client.opened(session, welcome)) ?? null;
        if (renewal !== null) return this.renew(renewal);
        this.#clockRequests.clear();
        this.#clockFirstLeft = CLOCK_REQUESTS_FIRST;
        this.#askClock(session);
        clockTimer = setInterval(() => this.#askClock(session), this.#timing.clockIntervalMs);
      },
      onMessage: (message) => {
        if (message.kind === 'clock_reply') this.#clockReply(message, session);
        else this.#call(message.kind, () => client.receive(message));
      },
    });
    this.#session = session;
    const end = await session.ended;
    this.#session = null;
    clearInterval(clockTimer);
    if (openedMs === null) return { end: this.#orOlder(end), stoodMs: 0 };
    // It may be updated before it is met again.
    this.#linkVersion = LINK_VERSION;
    this.#call('closed', () => client.closed());
    return { end, stoodMs: this.#options.monotonicNow() - openedMs };
  }

  /** A cloud that refuses our version as unknown is spoken to in the one before, down to the oldest; then later in the newest again. */
  #orOlder(end: LinkEnd): LinkEnd {
    if (end.kind !== 'closed' || end.code !== CloseCode.unsupportedVersion) return end;
    const hasOlder = this.#linkVersion > LINK_VERSION_OLDEST_CLOUD;
    this.#linkVersion = hasOlder ? this.#linkVersion - 1 : LINK_VERSION;
    return hasOlder ? { kind: 'renew', reason: `${end.reason}; now in version ${this.#linkVersion}` } : end;
  }

  /** A capability that throws has a defect; the link and the other capabilities go on. */
  #call<T>(what: string, action: () => T): T | undefined {
    try {
      return action();
    } catch (error) {
      this.#log.error({ err: error, what }, 'a message could not be handled');
      return undefined;
    }
  }

  #askClock(session: Session): void {
    const { clock, wallNow, monotonicNow } = this.#options;
    const robotSentMs = wallNow();
    for (const [oldest] of this.#clockRequests) {
      if (this.#clockRequests.size < CLOCK_REQUESTS_OPEN_MAX) break;
      this.#clockRequests.delete(oldest);
    }
    this.#clockRequests.set(robotSentMs, monotonicNow());
    session.send({ kind: 'clock_request', robot_sent_ms: robotSentMs, measured: clock.offset() });
  }

  #clockReply(reply: ClockReply, session: Session): void {
    const sentMs = this.#clockRequests.get(reply.robot_sent_ms);
    if (sentMs === undefined) return;
    this.#clockRequests.delete(reply.robot_sent_ms);
    const { cloud_received_ms: cloudReceivedMs, cloud_sent_ms: cloudSentMs } = reply;
    this.#options.clock.add({ sentMs, receivedMs: this.#options.monotonicNow(), cloudReceivedMs, cloudSentMs });
    this.#clockFirstLeft -= 1;
    if (this.#clockFirstLeft > 0) this.#askClock(session);
  }

  async #sleep(delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.#stopped) this.#wake();
    });
    this.#wake = () => {};
  }
}
