import { type LinkStatus, SOURCE_DROPS_MAX, type SourceDrop, type StorageState } from '@drover/shared/link/link-status';
import type { Welcome } from '@drover/shared/link/welcome';
import type { CloudClock } from './cloud-clock.js';
import type { Uplink } from './link.js';

/** How often it is looked whether there is something to tell, and so told at most. */
export const LINK_STATUS_MS = 5_000;
/** Everything is told again this often, should the cloud have lost it. */
export const LINK_STATUS_AGAIN_MS = 60_000;
/** Clouds that know the message. */
const LINK_STATUS_SINCE_VERSION = 3;
/** What waits is told again where it has changed by this part of it, and by this much: live data comes and goes all the time. */
const BYTES_CHANGE_PART = 0.1;
const BYTES_CHANGE_MIN = 64 * 1024;
/** A clock that moved by less tells nothing new. */
const CLOCK_CHANGE_MS = 50;

/** What the reporter asks of the spool. */
export interface ReportedSpool {
  /** What waits; null where the file can't be read. */
  depth(): LinkStatus['spool'] | null;
  /** Everything ever dropped, by source and reason. */
  drops(): readonly SourceDrop[];
}

export interface LinkReporterOptions {
  /** Whether the disk takes what the spool writes. */
  readonly storage: () => StorageState;
  readonly spool: ReportedSpool;
  readonly clock: Pick<CloudClock, 'offset'>;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
}

/**
 * Tells the cloud how much waits on this robot, what it had to drop, and how its clock stands: when a session opens, and then every
 * LINK_STATUS_MS what changed. Nothing is kept; one message at most waits for a link that stands still, the newest.
 */
export class LinkReporter {
  readonly #options: LinkReporterOptions;
  #uplink: Uplink | null = null;
  #timer: NodeJS.Timeout | null = null;
  #told: LinkStatus | null = null;
  #toldAtMs = 0;

  constructor(options: LinkReporterOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.look(), LINK_STATUS_MS).unref();
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.#uplink = null;
  }

  opened(uplink: Uplink, welcome: Pick<Welcome, 'link_version'>): void {
    if (welcome.link_version < LINK_STATUS_SINCE_VERSION) return;
    this.#uplink = uplink;
    this.#told = null;
    this.look();
  }

  closed(): void {
    this.#uplink = null;
  }

  /** Tells what there is to tell. */
  look(): void {
    if (!this.#uplink) return;
    const { spool: source, storage, clock, monotonicNow } = this.#options;
    const depth = source.depth();
    if (!depth) return;
    const spool = { ...depth, storage: storage() };
    const drops = largest(source.drops());
    const status: LinkStatus = { kind: 'link_status', clock: clock.offset(), spool, drops };
    const nowMs = monotonicNow();
    if (this.#told && nowMs - this.#toldAtMs < LINK_STATUS_AGAIN_MS && !isNews(this.#told, status)) return;
    this.#told = status;
    this.#toldAtMs = nowMs;
    this.#uplink.send(status, 'link_status');
  }
}

/** In an order that does not change by itself. */
function largest(drops: readonly SourceDrop[]): SourceDrop[] {
  return [...drops].sort((a, b) => b.rows - a.rows).slice(0, SOURCE_DROPS_MAX);
}

function isNews(told: LinkStatus, now: LinkStatus): boolean {
  if (told.spool.id !== now.spool.id || told.spool.bytes_max !== now.spool.bytes_max) return true;
  if (told.spool.storage !== now.spool.storage) return true;
  const change = Math.abs(told.spool.bytes - now.spool.bytes);
  if (change > Math.max(BYTES_CHANGE_MIN, told.spool.bytes * BYTES_CHANGE_PART)) return true;
  if (JSON.stringify(told.drops) !== JSON.stringify(now.drops)) return true;
  const moved = Math.abs((told.clock?.offset_ms ?? 0) - (now.clock?.offset_ms ?? 0));
  return (told.clock === null) !== (now.clock === null) || moved > CLOCK_CHANGE_MS;
}
