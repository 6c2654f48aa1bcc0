import type { Desired, DesiredStream, LogLevel } from '@drover/shared/link/desired';
import { STREAM_MESSAGE_BYTES_MAX } from '@drover/shared/link/protocol';
import { decodeCdr } from '@drover/shared/ros/cdr';
import type { MessageSchema } from '@drover/shared/ros/definitions';
import { DropReason, type PointSample } from '../spool/rows.js';
import { type CollectorDeps, DRAIN_HZ_MIN } from '../streams/collector.js';
import { PacedSampler } from '../streams/paced-sampler.js';
import type { WatchedStream } from '../streams/stream-reporter.js';
import { type Drain, type Received, Tap } from '../streams/tap.js';

export const ROSOUT = '/rosout';
export const LOG_TYPE = 'rcl_interfaces/msg/Log';

/** A stream that the log collector serves; any other on /rosout is a stream like all others. */
export function isLogStream(stream: DesiredStream): boolean {
  return stream.source === ROSOUT && stream.type === LOG_TYPE;
}

/** rcl_interfaces/msg/Log's constants. */
export const SEVERITY: Readonly<Record<LogLevel, number>> = { debug: 10, info: 20, warn: 30, error: 40, fatal: 50 };

/** What ROS keeps between two drains: a burst of a second at a thousand records. */
const DEPTH = 1000;

interface LogPoint {
  readonly point: PointSample;
  /** Log collection has kept it already: the stream need not. */
  readonly isKept: boolean;
}

/**
 * Collects /rosout: every record at the wanted level and above. A stream on /rosout is served from the same
 * subscription, so that a record that both want is stored once; the stream works with log collection off as well.
 * The stream's size bound counts for what only the stream wants. History is ignored: the records of before a restart
 * would come again.
 */
export class LogCollector {
  readonly #deps: CollectorDeps;
  #config: Desired['logs'] = { enabled: false, min_level: 'info' };
  #stream: DesiredStream | null = null;
  /** The stream on /rosout as it is wished, disabled or not. */
  #desired: DesiredStream | null = null;
  #sampler: PacedSampler<LogPoint> | null = null;
  #tap: Tap | null = null;
  #stopping: Promise<void> = Promise.resolve();

  constructor(deps: CollectorDeps) {
    this.#deps = { ...deps, log: deps.log.child({ part: 'logs' }) };
  }

  /** @param stream The desired stream on /rosout, or null. */
  apply(config: Desired['logs'], stream: DesiredStream | null): void {
    const wanted = stream?.enabled ? stream : null;
    this.#desired = stream;
    this.#config = config;
    if (wanted?.hz !== this.#stream?.hz) {
      this.#sampler?.stop();
      this.#sampler = wanted && this.#samplerOf(wanted.hz);
    }
    this.#stream = wanted;
    if (config.enabled || wanted) this.#start();
    else void this.stop();
  }

  /** The stream on /rosout, where one is desired. */
  get watched(): WatchedStream[] {
    if (!this.#desired) return [];
    return [{ source: ROSOUT, type: LOG_TYPE, view: this.#stream ? (this.#tap?.view ?? null) : null }];
  }

  async stop(): Promise<void> {
    this.#sampler?.stop();
    this.#sampler = null;
    this.#stream = null;
    const tap = this.#tap;
    this.#tap = null;
    if (tap) this.#stopping = this.#stopping.then(() => tap.stop());
    await this.#stopping;
  }

  #samplerOf(hz: number): PacedSampler<LogPoint> {
    const { monotonicNow, sink } = this.#deps;
    const keep = ({ point, isKept }: LogPoint) => {
      if (!isKept) sink.append(point);
    };
    return new PacedSampler({ hz, drainHz: DRAIN_HZ_MIN, monotonicNow, keep });
  }

  #start(): void {
    if (this.#tap) return;
    const tap = new Tap({
      ...this.#deps,
      topic: ROSOUT,
      type: LOG_TYPE,
      drainHz: DRAIN_HZ_MIN,
      depth: DEPTH,
      ignoreHistory: true,
      onDrain: (drain) => this.#drained(drain),
    });
    this.#tap = tap;
    void this.#stopping.then(() => {
      if (this.#tap === tap) tap.start();
    });
  }

  #drained({ messages, schema, publisher }: Drain): void {
    for (const message of messages) {
      if (message.cdr.byteLength > STREAM_MESSAGE_BYTES_MAX) {
        this.#deps.sink.countDrop(ROSOUT, DropReason.tooLarge, 1, message.cdr.byteLength);
      } else {
        this.#collect(message, schema, publisher);
      }
    }
  }

  #collect(message: Received, schema: MessageSchema, publisher: string | null): void {
    const { level, stampMs } = readRecord(message, schema);
    const { hash, text } = schema;
    const point: PointSample = {
      kind: 'point',
      source: ROSOUT,
      type: LOG_TYPE,
      schema: { hash, text },
      publisher,
      robotStampMs: stampMs,
      clockMs: message.wallMs - message.atMs,
      cdr: message.cdr,
    };
    const isKept = this.#config.enabled && level >= SEVERITY[this.#config.min_level];
    if (isKept) this.#deps.sink.append(point);
    else if (this.#stream && message.cdr.byteLength > this.#stream.max_message_bytes) {
      this.#deps.sink.countDrop(ROSOUT, DropReason.tooLarge, 1, message.cdr.byteLength);
      return;
    }
    this.#sampler?.offer({ point, isKept }, message.atMs);
  }
}

/** Level and stamp of a record. One that can't be read is kept, as one of the highest level and of now. */
function readRecord({ cdr, wallMs }: Received, schema: MessageSchema): { level: number; stampMs: number } {
  try {
    const record = decodeCdr(schema, cdr);
    const stamp = record.stamp as { sec?: unknown; nanosec?: unknown } | undefined;
    const stampMs = Number(stamp?.sec) * 1000 + Number(stamp?.nanosec) / 1e6;
    // A logger without a clock stamps its records zero.
    return { level: Number(record.level), stampMs: stampMs > 0 ? stampMs : wallMs };
  } catch {
    return { level: SEVERITY.fatal, stampMs: wallMs };
  }
}
