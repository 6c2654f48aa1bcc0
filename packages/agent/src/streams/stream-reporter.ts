import { STREAM_REPORTS_MAX, type StreamReport, type StreamStatus } from '@drover/shared/link/stream-status';
import type { DropCount } from '../spool/rows.js';
import { Dropping } from './dropping.js';
import { RateMeter } from './rate-meter.js';
import { stateOf, type TapView } from './stream-state.js';

/** How soon a change of state is told of streams of which one still waits for something; */
export const LOOK_MS = 250;
/** and where all receive, or are off. Each look wakes the process up. */
export const STEADY_LOOK_MS = 1_000;
/** How often counters alone are. */
export const COUNTERS_MS = 5_000;
/** And everything, changed or not. */
export const AGAIN_MS = 60_000;

/** A desired stream, and what its tap tells; null: it has none, being disabled. */
export interface WatchedStream {
  readonly source: string;
  readonly type: string;
  readonly view: TapView | null;
}

export interface StatusUplink {
  /** With a key, the message takes the place of one that waits under the same key. */
  send(message: StreamStatus, key?: string | null): void;
}

export interface StreamReporterOptions {
  readonly streams: () => readonly WatchedStream[];
  /** Everything ever dropped, by source and reason; asked every COUNTERS_MS. */
  readonly drops: () => readonly DropCount[];
  /** The spool that counts them. */
  readonly spoolId: () => string;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
}

/**
 * Tells the cloud how each stream does: everything when a session opens, then what changed: a state within LOOK_MS (or
 * STEADY_LOOK_MS), counters every COUNTERS_MS, each again every AGAIN_MS, should the cloud have lost it. Looks at the taps on a timer, so that a message costs nothing here. Nothing is kept: a report
 * that is lost with its session is told again by the next. While the link stands still one report a stream waits, the newest.
 */
export class StreamReporter {
  readonly #options: StreamReporterOptions;
  #uplink: StatusUplink | null = null;
  #timer: NodeJS.Timeout | null = null;
  #known = new Map<string, Known>();
  #drops = new Map<string, StreamReport['drops']>();
  readonly #dropping = new Dropping();
  /** The spool that #drops are of. */
  #dropsOf = '';
  #dropsReadMs = Number.NEGATIVE_INFINITY;
  #isSteady = false;

  constructor(options: StreamReporterOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= this.#lookAgain();
  }

  stop(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#uplink = null;
  }

  opened(uplink: StatusUplink): void {
    this.#uplink = uplink;
    const reports = this.#reports().map(({ report, known }) => {
      known.told = report;
      known.toldAtMs = this.#options.monotonicNow();
      return report;
    });
    for (let at = 0; at < reports.length; at += STREAM_REPORTS_MAX) {
      uplink.send(this.#status(reports.slice(at, at + STREAM_REPORTS_MAX)));
    }
  }

  closed(): void {
    this.#uplink = null;
  }

  /**
   * The desired streams were set: all are told again, also those that are as before. One that was deleted and created again
   * meanwhile is a new one to the cloud.
   */
  streamsSet(): void {
    for (const known of this.#known.values()) known.told = null;
    this.#isSteady = false;
    if (!this.#timer) return;
    clearTimeout(this.#timer);
    this.#timer = this.#lookAgain();
  }

  #lookAgain(): NodeJS.Timeout {
    const look = () => {
      this.look();
      if (!this.#timer) return;
      clearTimeout(this.#timer);
      this.#timer = this.#lookAgain();
    };
    return setTimeout(look, this.#isSteady ? STEADY_LOOK_MS : LOOK_MS).unref();
  }

  /** Tells what changed. */
  look(): void {
    const nowMs = this.#options.monotonicNow();
    // Also without a session: the rates are to be known when one opens.
    for (const { report, known } of this.#reports()) {
      if (!this.#uplink || !isDue(known, report, nowMs)) continue;
      known.told = report;
      known.toldAtMs = nowMs;
      this.#uplink.send(this.#status([report]), `stream_status ${report.source}`);
    }
  }

  #status(streams: StreamReport[]): StreamStatus {
    return { kind: 'stream_status', streams, spool_id: this.#dropsOf };
  }

  #reports(): { report: StreamReport; known: Known }[] {
    const nowMs = this.#options.monotonicNow();
    this.#readDrops(nowMs);
    const before = this.#known;
    this.#known = new Map();
    const reports = this.#options.streams().map(({ source, type, view }) => {
      let known = before.get(source);
      if (!known || known.type !== type) known = new Known(type);
      this.#known.set(source, known);
      const { state, message } = stateOf(topicWords(source, view), type, view, known.aloneMs(view, nowMs));
      const report: StreamReport = {
        source,
        type,
        state,
        // That it is received says nothing of its being kept.
        message: message ?? (state === 'receiving' ? this.#dropping.remedy(source, nowMs) : null),
        publishers: view?.sight?.publishers ?? 0,
        receiving_since_robot_ms: view?.firstWallMs ?? null,
        last_message_robot_ms: view?.lastWallMs ?? null,
        rate_hz: known.rate(view, nowMs),
        drops: this.#drops.get(source) ?? [],
      };
      return { report, known };
    });
    this.#isSteady = reports.every(({ report: { state } }) => state === 'receiving' || state === 'disabled');
    return reports;
  }

  #readDrops(nowMs: number): void {
    if (nowMs - this.#dropsReadMs < COUNTERS_MS) return;
    this.#dropsReadMs = nowMs;
    this.#drops = new Map();
    this.#dropsOf = this.#options.spoolId();
    const counts = this.#options.drops();
    this.#dropping.read(counts, nowMs);
    for (const { source, reason, rows, bytes } of counts) {
      const drops = this.#drops.get(source) ?? [];
      drops.push({ reason, rows, bytes });
      this.#drops.set(source, drops);
    }
  }
}

/** What is remembered of a stream between two looks. */
class Known {
  readonly type: string;
  told: StreamReport | null = null;
  toldAtMs = Number.NEGATIVE_INFINITY;
  readonly #meter = new RateMeter();
  #aloneSinceMs: number | null = null;

  constructor(type: string) {
    this.type = type;
  }

  /** For how long the subscription has seen no publisher; 0 where it does. */
  aloneMs(view: TapView | null, nowMs: number): number {
    if (view?.sight?.publishers !== 0) this.#aloneSinceMs = null;
    else this.#aloneSinceMs ??= nowMs;
    return this.#aloneSinceMs === null ? 0 : nowMs - this.#aloneSinceMs;
  }

  rate(view: TapView | null, nowMs: number): number | null {
    if (view?.sight) return this.#meter.read(view.received, nowMs);
    this.#meter.reset();
    return null;
  }
}

/** What is looked for on the graph; where that is not the source itself, both. */
function topicWords(source: string, view: TapView | null): string {
  if (view === null || view.topic === source) return source;
  return `${view.topic} (as which ${source} is resolved here)`;
}

function isDue({ told, toldAtMs }: Known, report: StreamReport, nowMs: number): boolean {
  if (!told || told.state !== report.state || told.message !== report.message) return true;
  if (told.publishers !== report.publishers) return true;
  if (nowMs - toldAtMs >= AGAIN_MS) return true;
  return nowMs - toldAtMs >= COUNTERS_MS && JSON.stringify(told) !== JSON.stringify(report);
}
