import type { DesiredStream } from '@drover/shared/link/desired';
import { STREAM_MESSAGE_BYTES_MAX } from '@drover/shared/link/protocol';
import type { Logger } from 'pino';
import type { RosGraph } from '../ros/graph.js';
import { DropReason, type PointSample, type Sample } from '../spool/rows.js';
import type { LoopWatch } from './loop-watch.js';
import { PacedSampler } from './paced-sampler.js';
import type { TapView } from './stream-state.js';
import { type Drain, Tap } from './tap.js';

/** Subscriptions are drained at least this often, so that a stamp is exact to 50 ms. */
export const DRAIN_HZ_MIN = 20;
/** A topic is left alone between two samples where it brings so many times more than is kept. */
const REST_RATIO_MIN = 4;
/** And watched for so many of its messages before one is due, so that the one kept is new, its stamp exact. */
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
  readonly loopWatch: LoopWatch;
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
    this.#sampler = new PacedSampler({ hz, drainHz, monotonicNow, keep: (point) => sink.append(point) });
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

  /** Until shortly before the next sample. */
  #restMs(rateHz: number, drainHz: number): number {
    const dueMs = this.#sampler.nextMs();
    if (dueMs === null || rateHz < this.#stream.hz * REST_RATIO_MIN) return 0;
    const watchMs = Math.max(1000 / drainHz, (WATCHED_MESSAGES * 1000) / rateHz);
    return dueMs - watchMs - this.#deps.monotonicNow();
  }

  #sample({ messages, schema, publisher }: Drain): void {
    const { source, type } = this.#stream;
    for (const { cdr, atMs, wallMs } of messages) {
      if (cdr.byteLength > this.#bytesMax) {
        this.#deps.sink.countDrop(source, DropReason.tooLarge, 1, cdr.byteLength);
        continue;
      }
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
      this.#sampler.offer(point, atMs);
    }
  }
}

export function depthFor(hz: number): number {
  return Math.min(DEPTH_MAX, Math.max(DEPTH_MIN, Math.ceil(hz)));
}
