import type { DesiredStream } from '@drover/shared/link/desired';
import { STREAM_MESSAGE_BYTES_MAX } from '@drover/shared/link/protocol';
import type { Logger } from 'pino';
import type { RosGraph } from '../ros/graph.js';
import { DropReason, type PointSample, type Sample } from '../spool/rows.js';
import { noteKept } from './large-messages.js';
import { PacedSampler } from './paced-sampler.js';
import type { TapView } from './stream-state.js';
import { type Drain, type Received, Tap } from './tap.js';

/** Subscriptions are drained at least this often, so that a stamp is exact to 50 ms. */
export const DRAIN_HZ_MIN = 20;
/**
 * A topic as fast as it would be drained is left alone until a sample is due, where it brings so many times more than is kept: the
 * newest of what waits then is the sample, and no older than a drain.
 */
const FAST_RATIO_MIN = 2;
/** A timer may be so much early. */
const DUE_AFTER_MS = 2;
/** A slower one is left alone where it brings so many times more than is kept, */
const SLOW_RATIO_MIN = 4;
/** and watched for so many of its messages before one is due, so that the one kept is new, its stamp exact. */
const WATCHED_MESSAGES = 2;
/** How much ROS keeps between two drains: a second at hz, so that a short stall loses nothing, within these bounds. */
const DEPTH_MIN = 5;
const DEPTH_MAX = 1000;

/** Where samples go. */
export interface SampleSink {
  append(sample: Sample): void;
  countDrop(source: string, reason: DropReason, rows: number, bytes: number): void;
}

export interface CollectorDeps {
  readonly graph: RosGraph;
  readonly sink: SampleSink;
  readonly monotonicNow: () => number;
  readonly wallNow: () => number;
  readonly log: Logger;
}

/** One stream: a topic, sampled at its rate into the spool. */
export class Collector {
  readonly #deps: CollectorDeps;
  readonly #stream: DesiredStream;
  readonly #tap: Tap;
  readonly #sampler: PacedSampler<PointSample>;
  #bytesMax = 0;

  constructor(stream: DesiredStream, deps: CollectorDeps) {
    this.#deps = deps;
    this.#stream = stream;
    const { hz } = stream;
    this.bound(stream.max_message_bytes);
    const drainHz = Math.max(hz, DRAIN_HZ_MIN);
    const { monotonicNow, sink } = deps;
    this.#sampler = new PacedSampler({
      ...{ hz, drainHz, monotonicNow },
      keep: (point) => {
        noteKept(point.cdr.byteLength);
        sink.append(point);
      },
      passOver: ({ cdr }) => this.#tap.release(cdr),
    });
    this.#tap = new Tap({
      ...deps,
      topic: stream.source,
      type: stream.type,
      drainHz,
      depth: depthFor(hz),
      restMs: (rateHz) => this.#restMs(rateHz, drainHz),
      onDrain: (drain) => this.#sample(drain),
    });
  }

  get view(): TapView {
    return this.#tap.view;
  }

  /** Messages larger than this are dropped from now on, and counted. */
  bound(messageBytesMax: number): void {
    this.#bytesMax = Math.min(messageBytesMax, STREAM_MESSAGE_BYTES_MAX);
  }

  start(): void {
    this.#tap.start();
  }

  async stop(): Promise<void> {
    this.#sampler.stop();
    await this.#tap.stop();
  }

  /** Until the next sample, or shortly before it. */
  #restMs(rateHz: number, drainHz: number): number {
    const dueMs = this.#sampler.nextMs();
    const isFast = rateHz >= drainHz;
    if (dueMs === null || rateHz < this.#stream.hz * (isFast ? FAST_RATIO_MIN : SLOW_RATIO_MIN)) return 0;
    const watchMs = Math.max(1000 / drainHz, (WATCHED_MESSAGES * 1000) / rateHz);
    return dueMs + (isFast ? DUE_AFTER_MS : -watchMs) - this.#deps.monotonicNow();
  }

  #sample({ messages, schema, publisher, restedHz, unseen, stall }: Drain): void {
    const { source, type } = this.#stream;
    const sound: Received[] = [];
    for (const message of messages) {
      const { byteLength } = message.cdr;
      if (byteLength <= this.#bytesMax) {
        sound.push(message);
        continue;
      }
      this.#deps.sink.countDrop(source, DropReason.tooLarge, 1, byteLength);
      this.#tap.release(message.cdr);
    }
    const newestOnly = restedHz !== null && restedHz >= Math.max(this.#stream.hz, DRAIN_HZ_MIN);
    const offered = newestOnly
      ? newestOfEach(1000 / this.#stream.hz, sound, ({ cdr }) => this.#tap.release(cdr))
      : sound;
    // Of a faster topic others take the place of what came too late.
    if (stall && restedHz === null && stall.rateHz < this.#stream.hz * FAST_RATIO_MIN)
      this.#sampler.catchUp(Math.min(stall.ms, (depthFor(this.#stream.hz) * 1000) / this.#stream.hz), stall.untilMs);
    for (const [index, { cdr, atMs, wallMs }] of offered.entries()) {
      const { hash, text } = schema;
      const point: PointSample = {
        kind: 'point',
        source,
        type,
        schema: { hash, text },
        publisher,
        robotStampMs: wallMs,
        clockMs: wallMs - atMs,
        cdr,
      };
      if (newestOnly && index === offered.length - 1) this.#sampler.offerNewest(point, this.#deps.monotonicNow());
      else this.#sampler.offer(point, atMs);
    }
    this.#countOverrun(unseen);
  }

  /** What came while the agent stood still is lost where ROS had no room for it and nothing that comes later stands in for it. */
  #countOverrun(unseen: Drain['unseen']): void {
    const { source, hz } = this.#stream;
    const unused = this.#sampler.takeUnused();
    const due = (unseen.ms * hz) / 1000;
    const isCaughtUp = unseen.messages >= due * FAST_RATIO_MIN;
    const lost = Math.floor(Math.min(due, unseen.messages, isCaughtUp ? unused : due));
    if (lost > 0) this.#deps.sink.countDrop(source, DropReason.overrun, lost, 0);
  }
}

/** Of a drain that came late, the newest message of each period, counted back from the last; oldest first. */
function newestOfEach(
  periodMs: number,
  messages: readonly Received[],
  passedOver: (message: Received) => void,
): Received[] {
  const newestMs = messages.at(-1)?.atMs ?? 0;
  const periodOf = ({ atMs }: Received) => Math.floor((newestMs - atMs) / periodMs);
  return messages.filter((message, index) => {
    const next = messages[index + 1];
    const isNewest = next === undefined || periodOf(next) < periodOf(message);
    if (!isNewest) passedOver(message);
    return isNewest;
  });
}

export function depthFor(hz: number): number {
  return Math.min(DEPTH_MAX, Math.max(DEPTH_MIN, Math.ceil(hz)));
}
