import type { MessageSchema } from '@drover/shared/ros/definitions';
import type { Logger } from 'pino';
import { GraphStoppedError, type RosGraph, type Subscription, UnknownTypeError } from '../ros/graph.js';
import { clockSetBy } from '../spool/clocks.js';
import type { TapView } from './stream-state.js';

/** A type the graph doesn't know, or a subscription that failed, is tried again this often. */
export const TAP_RETRY_MS = 5_000;

/** A rest is no longer, however rarely a message is kept: who falls silent meanwhile has its last message stamped so late at most. */
const REST_MS_MAX = 1_000;
/** A drain this much later than due comes after a stall. */
const STALL_MS = 25;
/** What came during a stall may be handed over so long after its end: the whole process stood still, and has much else to do then. */
const LATE_MS = 1_000;
/** A rest may end so much before its time, as timers do. */
const EARLY_MS = 5;
/** Of a topic that is left alone again and again, the rate is looked at this often. */
const RATE_AGAIN_MS = 5_000;
/** How long a topic has been drained before its rate is known; later, what is older than some of these counts half. */
const RATE_KNOWN_MS = 500;

/** A moment by both clocks, milliseconds. */
interface Moment {
  /** Monotonic milliseconds. */
  readonly atMs: number;
  /** The robot's wall clock at the same moment. */
  readonly wallMs: number;
}

/** The process stood still. */
interface Stall {
  /** When ROS was last asked before, and first after it: monotonic milliseconds. */
  readonly sinceMs: number;
  readonly endedMs: number;
}

/** A message as it was received. */
export interface Received extends Moment {
  readonly cdr: Uint8Array;
}

/** What one drain of the subscription brought, in the order of arrival. */
export interface Drain {
  readonly messages: readonly Received[];
  readonly schema: MessageSchema;
  /** Full name of the topic's only publishing node, or null. */
  readonly publisher: string | null;
  /** Where the topic was left alone before: how many messages a second it brings. Else null. */
  readonly restedHz: number | null;
  /** What came before them and is gone, for ROS had no room for more than these: how many, and in what time. By the rate: none while that is unknown. */
  readonly unseen: { readonly ms: number; readonly messages: number };
  /** The process stood still not long ago: for how long, until when what came meanwhile may be handed over, and how many messages a second the topic brings. */
  readonly stall: { readonly ms: number; readonly untilMs: number; readonly rateHz: number } | null;
}

export interface TapOptions {
  readonly graph: RosGraph;
  /** As it is wished: resolved, and remapped, by the graph's names. */
  readonly topic: string;
  readonly type: string;
  readonly drainHz: number;
  readonly depth: number;
  readonly ignoreHistory?: boolean;
  /** For how many milliseconds nothing is of use, of a topic that brings so many messages a second. Never by default. */
  readonly restMs?: (rateHz: number) => number;
  readonly onDrain: (drain: Drain) => void;
  readonly monotonicNow: () => number;
  readonly wallNow: () => number;
  readonly log: Logger;
}

/**
 * Keeps a topic subscribed: tries until the graph knows the type, again after a failure, until stop(). Hands over
 * drain by drain, each message with the time it was received: those of one drain are taken to have come evenly since
 * the drain before, which is exact to a drain's period.
 */
export class Tap {
  readonly #options: TapOptions;
  readonly #log: Logger;
  /** As the graph has it. */
  readonly #topic: string;
  #subscription: Subscription | null = null;
  #schema: MessageSchema | null = null;
  #drained: Uint8Array[] = [];
  #lastDrainMs = Number.NEGATIVE_INFINITY;
  #retry: NodeJS.Timeout | null = null;
  #lastProblem = '';
  #failure: Error | null = null;
  #count = 0;
  /** How long the topic was drained without a rest, and what came. */
  #watched = { ms: 0, messages: 0 };
  #watchedAtMs = Number.NEGATIVE_INFINITY;
  /** When the rest ends that was wished for after the last drain; what the drain after it brings came during it. */
  #restEndMs = Number.POSITIVE_INFINITY;
  /** When ROS was last asked for messages, whether there were any. */
  #askedMs: number | null = null;
  /** The last one; none while a rest is on. */
  #stall: Stall | null = null;
  #first: Moment | null = null;
  #last: Moment | null = null;
  #stopped = false;
  #working: Promise<void> | null = null;

  constructor(options: TapOptions) {
    this.#options = options;
    this.#topic = options.graph.names.resolve(options.topic);
    this.#log = options.log.child({ topic: this.#topic, type: options.type });
  }

  start(): void {
    this.#working ??= this.#open();
  }

  /** What it does now, and what it has received since it subscribed. */
  get view(): TapView {
    return {
      topic: this.#topic,
      failure: this.#failure,
      sight: this.#subscription?.sight() ?? null,
      received: this.#count,
      firstWallMs: this.#wallMs(this.#first),
      lastWallMs: this.#wallMs(this.#last),
    };
  }

  /** A message that was handed over is of no use. */
  release(cdr: Uint8Array): void {
    this.#subscription?.release?.(cdr);
  }

  /** When a message came, by the wall clock as it stands now: where it was set meanwhile, not as it stood then. */
  #wallMs(came: Moment | null): number | null {
    if (came === null) return null;
    const { wallNow, monotonicNow } = this.#options;
    const setMs = clockSetBy(came.wallMs - came.atMs, wallNow() - monotonicNow());
    return setMs === 0 ? came.wallMs : Math.round(came.wallMs + setMs);
  }

  /** Ends the subscription; nothing is handed over any more once it is called. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#retry) clearTimeout(this.#retry);
    await this.#working;
    await this.#close();
  }

  async #open(): Promise<void> {
    const { graph, type, drainHz, depth, ignoreHistory = false } = this.#options;
    try {
      const definition = await graph.describe(type);
      if (definition.kind !== 'msg') throw new UnknownTypeError(type);
      this.#schema = definition.message;
      this.#askedMs = this.#options.monotonicNow();
      this.#subscription = await graph.subscribe({
        topic: this.#topic,
        type,
        drainHz,
        depth,
        ignoreHistory,
        restMs: () => this.#rest(),
        onMessage: (cdr) => this.#received(cdr),
      });
      this.#failure = null;
      if (this.#lastProblem !== '') this.#log.info('topic subscribed after all');
      this.#lastProblem = '';
    } catch (error) {
      if (error instanceof GraphStoppedError || this.#stopped) return;
      this.#tryAgain(error);
    }
  }

  #tryAgain(error: unknown): void {
    this.#failure = error instanceof Error ? error : new Error(String(error));
    const problem = this.#failure.message;
    // Said once, not every five seconds.
    if (problem !== this.#lastProblem) {
      const level = error instanceof UnknownTypeError ? 'info' : 'warn';
      this.#log[level]({ problem }, 'topic can not be subscribed; trying again');
    }
    this.#lastProblem = problem;
    this.#retry = setTimeout(() => {
      this.#working = this.#open();
    }, TAP_RETRY_MS).unref();
  }

  async #close(): Promise<void> {
    const subscription = this.#subscription;
    this.#subscription = null;
    try {
      await subscription?.close();
    } catch (error) {
      this.#log.warn({ err: error }, 'a subscription could not be closed');
    }
  }

  /** Messages a second; null while not known. */
  get #rateHz(): number | null {
    const { ms, messages } = this.#watched;
    return ms < RATE_KNOWN_MS ? null : (messages * 1000) / ms;
  }

  /** A drain is over. */
  #rest(): number {
    const { restMs, drainHz, monotonicNow } = this.#options;
    const nowMs = monotonicNow();
    // What this drain brought, if anything, may have been looked at a moment ago: nothing is awaited then.
    const askedMs = this.#lastDrainMs > (this.#askedMs ?? nowMs) ? this.#lastDrainMs : nowMs;
    if (Number.isFinite(this.#restEndMs)) this.#stall = null;
    else if (this.#isLate(askedMs)) this.#stall = { sinceMs: this.#stallBegan(askedMs), endedMs: askedMs };
    this.#askedMs = askedMs;
    this.#restEndMs = Number.POSITIVE_INFINITY;
    const rateHz = this.#rateHz;
    if (!restMs || rateHz === null || this.#stopped || nowMs - this.#watchedAtMs > RATE_AGAIN_MS) return 0;
    const ms = Math.min(REST_MS_MAX, restMs(rateHz));
    // A rest of a drain saves nothing.
    if (ms <= 1000 / drainHz) return 0;
    this.#restEndMs = nowMs + ms;
    return ms;
  }

  /** What ROS let go of since it was last asked: nothing where it had room left. */
  #unseen(messages: number, nowMs: number): Drain['unseen'] {
    const rateHz = this.#rateHz;
    if (rateHz === null || messages < this.#options.depth) return { ms: 0, messages: 0 };
    const ms = Math.max(0, nowMs - this.#stallBegan(nowMs) - (messages * 1000) / rateHz);
    return { ms, messages: (ms * rateHz) / 1000 };
  }

  /** From when to when the messages of a drain have come. Counts them, and after a rest those that ROS let go of, by the rate. */
  #came(messages: number, nowMs: number, restedHz: number | null): { fromMs: number; toMs: number } {
    const { drainHz, depth } = this.#options;
    const lastMs = this.#lastDrainMs;
    const sinceLastMs = nowMs - lastMs;
    const spanMs = restedHz === null ? 0 : (messages * 1000) / restedHz;
    if (restedHz !== null && messages >= depth) {
      this.#count += Math.max(messages, Math.round((sinceLastMs * restedHz) / 1000));
      return { fromMs: Math.max(lastMs, nowMs - spanMs), toMs: nowMs };
    }
    this.#count += messages;
    const rateHz = this.#rateHz;
    // After a stall ROS may have had no room for all: the rate would seem lower than it is.
    const isCut = this.#isLate(nowMs) && messages >= depth;
    if (Number.isFinite(sinceLastMs) && !isCut) this.#watch(sinceLastMs, messages, nowMs);
    const drainMs = 1000 / drainHz;
    if (restedHz !== null) {
      // All that came is here: where it ends early, the publisher fell silent.
      const isSilent = lastMs + spanMs < nowMs - 2 * Math.max(drainMs, 1000 / restedHz);
      return { fromMs: lastMs, toMs: isSilent ? lastMs + spanMs : nowMs };
    }
    return { fromMs: Math.max(lastMs, this.#stalledSince(messages, nowMs, rateHz) ?? nowMs - drainMs), toMs: nowMs };
  }

  /** The process stood still (a slow disk, a stopped process) since ROS was last asked. */
  #isLate(nowMs: number): boolean {
    return this.#askedMs !== null && nowMs - this.#askedMs > 1000 / this.#options.drainHz + STALL_MS;
  }

  /** When ROS was last asked; or, where nothing has come since a stall, before that. */
  #stallBegan(nowMs: number): number {
    return this.#awaited(nowMs)?.sinceMs ?? this.#askedMs ?? nowMs;
  }

  /** The stall that has ended, while what came during it may still be to be handed over. */
  #awaited(nowMs: number): Stall | null {
    const stall = this.#stall;
    if (stall === null || this.#lastDrainMs >= stall.endedMs || nowMs - stall.endedMs > LATE_MS) return null;
    return stall;
  }

  /** What came during a stall may be handed over in pieces, of which only the first is awaited. */
  #stallBefore(nowMs: number): Drain['stall'] {
    const rateHz = this.#rateHz;
    const stall = this.#isLate(nowMs) ? { sinceMs: this.#stallBegan(nowMs), endedMs: nowMs } : this.#stall;
    if (rateHz === null || stall === null || nowMs - stall.endedMs > LATE_MS) return null;
    return { ms: stall.endedMs - stall.sinceMs, untilMs: stall.endedMs + LATE_MS, rateHz };
  }

  /** Since when the messages of a drain have come, where they came during a stall, or may have. Null where they did not. */
  #stalledSince(messages: number, nowMs: number, rateHz: number | null): number | null {
    const beganMs = this.#stallBegan(nowMs);
    if (this.#isLate(nowMs)) return beganMs;
    const awaited = this.#awaited(nowMs);
    if (awaited === null) return null;
    if (nowMs - awaited.endedMs < STALL_MS) return beganMs;
    // No longer than so many take: they may as well be of the time after it.
    return rateHz === null
      ? null
      : Math.min(nowMs - 1000 / this.#options.drainHz, Math.max(beganMs, nowMs - (messages * 1000) / rateHz));
  }

  #watch(ms: number, messages: number, nowMs: number): void {
    this.#watchedAtMs = nowMs;
    const half = this.#watched.ms > 4 * RATE_KNOWN_MS ? 0.5 : 1;
    this.#watched = { ms: this.#watched.ms * half + ms, messages: this.#watched.messages * half + messages };
  }

  /** The graph hands over the messages of one drain in one go: the microtask comes after the last of them. */
  #received(cdr: Uint8Array): void {
    if (this.#stopped) return;
    this.#drained.push(cdr);
    if (this.#drained.length === 1) queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    const drained = this.#drained;
    this.#drained = [];
    const schema = this.#schema;
    if (this.#stopped || schema === null) return;
    const { monotonicNow, wallNow, onDrain } = this.#options;
    const nowMs = monotonicNow();
    const wallMs = wallNow();
    const restedHz = nowMs >= this.#restEndMs - EARLY_MS ? this.#rateHz : null;
    const unseen = this.#unseen(drained.length, nowMs);
    const stall = this.#stallBefore(nowMs);
    const { fromMs, toMs } = this.#came(drained.length, nowMs, restedHz);
    this.#lastDrainMs = nowMs;
    const messages = drained.map((cdr, index) => {
      const agoMs = nowMs - toMs + ((drained.length - 1 - index) / drained.length) * (toMs - fromMs);
      return { cdr, atMs: nowMs - agoMs, wallMs: wallMs - agoMs };
    });
    this.#first ??= momentOf(messages[0]);
    this.#last = momentOf(messages.at(-1)) ?? this.#last;
    try {
      onDrain({ messages, schema, publisher: this.#subscription?.publisher() ?? null, restedHz, unseen, stall });
    } catch (error) {
      this.#log.error({ err: error }, 'messages could not be handled');
    }
  }
}

/** Without the message, which need not be kept for it. */
function momentOf(message: Received | undefined): Moment | null {
  return message ? { atMs: message.atMs, wallMs: message.wallMs } : null;
}
