import type { Batch } from '@drover/shared/link/batch';
import type { Lane } from '@drover/shared/link/fields';
import type { Logger } from 'pino';
import type { BatchRecord } from './rows.js';
import type { BatchOutlet, Spool } from './spool.js';

/** A lane has at most this many batches, and about this many bytes, that the cloud has not acknowledged. */
const WINDOW_BATCHES = 4;
const WINDOW_BYTES = 1024 * 1024;
/** Rows committed up to this long before a session stands still count as live: a reconnect is no outage. */
const LIVE_AGE_MAX_MS = 10_000;

export interface UploaderOptions {
  readonly spool: Spool;
  /** Cloud's clock minus robot's wall clock, as of now. */
  readonly clockOffset: () => Batch['clock'];
  readonly log: Logger;
}

/** What the uploader needs of a session. */
export interface BatchSender {
  send(message: Batch): void;
}

/**
 * Sends the spool to the cloud while a session stands: first what was sent before and never acknowledged, unchanged,
 * then new batches as the windows open. What waited through an outage goes in the backfill lane, beside the live one.
 */
export class Uploader implements BatchOutlet {
  readonly #options: UploaderOptions;
  #sender: BatchSender | null = null;
  /** By lane: a live batch overtakes the backfill before it, and must not count on what that one brings along. */
  #schemasSent: Record<Lane, Set<string>> = { live: new Set(), backfill: new Set() };
  #liveFromId = 0;

  constructor(options: UploaderOptions) {
    this.#options = options;
  }

  /** The session stands and the spool is this robot's; `acked` is what the cloud said it holds. */
  open(sender: BatchSender, acked: Readonly<Record<Lane, number>>): void {
    const { spool, log } = this.#options;
    this.#sender = sender;
    this.#schemasSent = { live: new Set(), backfill: new Set() };
    this.#liveFromId = spool.idBefore(LIVE_AGE_MAX_MS);
    const again = spool.store.unacked.filter((batch) => batch.firstSeq + batch.rowCount - 1 > acked[batch.lane]);
    if (again.length > 0) log.info({ batches: again.length }, 'sending again what was not acknowledged');
    this.formed(again);
    for (const lane of ['live', 'backfill'] as const) if (acked[lane] > 0) spool.acknowledge(lane, acked[lane]);
    spool.setOutlet(this);
  }

  close(): void {
    this.#sender = null;
    this.#options.spool.setOutlet(null);
  }

  /** The cloud has everything of the lane up to `seq` on its disk. */
  acknowledged(ack: { spool_id: string; lane: Lane; seq: number }): void {
    if (ack.spool_id !== this.#options.spool.id) return;
    this.#options.spool.acknowledge(ack.lane, ack.seq);
  }

  clock(): Batch['clock'] {
    return this.#options.clockOffset();
  }

  liveFromId(): number {
    return this.#liveFromId;
  }

  mayForm(lane: Lane, unacked: readonly BatchRecord[]): boolean {
    const inFlight = unacked.filter((batch) => batch.lane === lane);
    const bytes = inFlight.reduce((sum, batch) => sum + batch.bytes, 0);
    return this.#sender !== null && inFlight.length < WINDOW_BATCHES && bytes < WINDOW_BYTES;
  }

  formed(batches: readonly BatchRecord[]): void {
    const sender = this.#sender;
    if (!sender) return;
    for (const record of batches) {
      const content = this.#options.spool.read(record);
      if (!content) return;
      const sent = this.#schemasSent[record.lane];
      const schemas = content.schemas.filter((schema) => !sent.has(schema.hash));
      for (const schema of schemas) sent.add(schema.hash);
      sender.send({
        kind: 'batch',
        spool_id: this.#options.spool.id,
        lane: record.lane,
        first_seq: record.firstSeq,
        clock: this.#options.spool.clockOf(record, this.#options.clockOffset()),
        schemas,
        channels: content.channels,
        rows: content.rows,
      });
    }
  }
}
