import type { CommandOutcome } from '@drover/shared/link/command';
import type { Logger } from 'pino';
import type { Uplink } from '../link/link.js';
import type { Inbox } from '../spool/inbox.js';

/** Outcomes sent and not acknowledged at once. */
const WINDOW = 32;
/** What the disk refused is tried again this often. */
const RETRY_INTERVAL_MS = 1_000;
/** Outcomes the disk refused, kept in memory and tried again; past it the oldest is given up. */
const UNSTORED_MAX = 1_000;

export interface OutcomeBoxOptions {
  readonly inbox: Inbox;
  /** The cloud's clock; null before it was measured. */
  readonly cloudNow: () => number | null;
  readonly log: Logger;
}

/**
 * Brings outcomes to disk and to the cloud: each is stored, then sent until it is acknowledged, at every session anew.
 * One that the disk refuses is sent from memory, and stored when the disk takes it again; but not where the disk still
 * says that the command waits: a restart would run what the cloud was told has ended.
 *
 * Acknowledgements are written with whatever is written next, and cost no flush of their own: a crash before that costs one more
 * sending of the few that came since.
 */
export class OutcomeBox {
  readonly #inbox: Inbox;
  readonly #cloudNow: () => number | null;
  readonly #log: Logger;
  #uplink: Uplink | null = null;
  #ended: CommandOutcome[] = [];
  #storing: NodeJS.Immediate | null = null;
  readonly #unstored = new Map<string, CommandOutcome>();
  /** Not to be told before they are stored. */
  readonly #heldBack = new Set<string>();
  readonly #inFlight = new Set<string>();
  readonly #acknowledged = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  /** Outcomes may wait on disk that did not fit the window: spares looking after every acknowledgement. */
  #moreWait = false;
  #closed = false;

  constructor(options: OutcomeBoxOptions) {
    this.#inbox = options.inbox;
    this.#cloudNow = options.cloudNow;
    this.#log = options.log;
  }

  /**
   * A command has ended. Those of one turn of the event loop share a transaction, with the start of what waited for them.
   * @param options `alone`: nothing waited for it, and nothing else is on its way; it is stored, and told, at once.
   */
  add(outcome: CommandOutcome, { waitsOnDisk = false, alone = false } = {}): void {
    if (this.#closed) return;
    if (waitsOnDisk) this.#heldBack.add(outcome.uuid);
    this.#ended.push(outcome);
    if (alone) this.#store();
    else this.#storing ??= setImmediate(() => this.#store());
  }

  /**
   * Makes `write` and what is to be written anyway one durable transaction.
   * @throws what the disk refuses it with; nothing is written then.
   */
  writeWith(write: () => void): void {
    const refusal = this.#commit(write);
    if (refusal) throw refusal.error;
  }

  /** Ended in this turn: it is about to be stored, and told then. */
  isEnding(uuid: string): boolean {
    return this.#ended.some((outcome) => outcome.uuid === uuid);
  }

  /** An outcome that the disk refused. */
  unstored(uuid: string): CommandOutcome | null {
    return this.#unstored.get(uuid) ?? null;
  }

  /** Sends an outcome again: the cloud asked by sending its command again. */
  resend(outcome: CommandOutcome): void {
    this.#acknowledged.delete(outcome.uuid);
    this.#send(outcome);
  }

  opened(uplink: Uplink): void {
    this.#uplink = uplink;
    this.#inFlight.clear();
    this.#moreWait = true;
    this.#fill();
  }

  closed(): void {
    this.#uplink = null;
  }

  /** The cloud has the outcome on its disk. */
  acknowledge(uuid: string): void {
    this.#inFlight.delete(uuid);
    this.#acknowledged.add(uuid);
    this.#fill();
  }

  /** Writes what is still to be written. */
  close(): void {
    this.#uplink = null;
    this.#store();
    this.#settle();
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  /** The inbox is another one now: what was to be told for the old one is not this robot's. */
  forget(): void {
    this.#ended = [];
    this.#unstored.clear();
    this.#heldBack.clear();
    this.#inFlight.clear();
    this.#acknowledged.clear();
  }

  #store(): void {
    if (this.#ended.length > 0) this.#commit(() => {});
  }

  /** Writes what ended and what was acknowledged, and `write`; then tells what ended. Returns what the disk refused it with. */
  #commit(write: () => void): { error: unknown } | null {
    if (this.#storing) clearImmediate(this.#storing);
    this.#storing = null;
    const outcomes = this.#ended;
    this.#ended = [];
    let refusal: { error: unknown } | null = null;
    try {
      this.#inbox.together(() => {
        write();
        if (outcomes.length > 0) this.#inbox.finish(outcomes);
        if (this.#acknowledged.size > 0) this.#inbox.delivered([...this.#acknowledged], this.#cloudNow());
      });
      this.#acknowledged.clear();
      for (const { uuid } of outcomes) this.#heldBack.delete(uuid);
    } catch (error) {
      refusal = { error };
      if (outcomes.length > 0) this.#keep(outcomes, error);
    }
    for (const outcome of outcomes) {
      if (this.#inFlight.size < WINDOW) this.#send(outcome);
      else this.#moreWait = true;
    }
    return refusal;
  }

  /** The disk refused them. */
  #keep(outcomes: readonly CommandOutcome[], error: unknown): void {
    this.#log.error({ err: error, outcomes: outcomes.length }, 'outcomes can not be stored; sent from memory');
    for (const outcome of outcomes) this.#unstored.set(outcome.uuid, outcome);
    for (const oldest of this.#unstored.keys()) {
      if (this.#unstored.size <= UNSTORED_MAX) break;
      this.#unstored.delete(oldest);
      this.#heldBack.delete(oldest);
    }
    this.#settleLater();
  }

  #settleLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#settle();
      this.#fill();
    }, RETRY_INTERVAL_MS);
  }

  /** Brings memory and disk together: outcomes the disk refused before, and acknowledgements. */
  #settle(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    try {
      if (this.#unstored.size > 0) {
        this.#inbox.finish([...this.#unstored.values()]);
        this.#unstored.clear();
        this.#moreWait ||= this.#heldBack.size > 0;
        this.#heldBack.clear();
      }
      if (this.#acknowledged.size > 0) {
        this.#inbox.delivered([...this.#acknowledged], this.#cloudNow());
        this.#acknowledged.clear();
      }
    } catch (error) {
      this.#log.debug({ err: error }, 'the inbox still refuses writes');
      this.#settleLater();
    }
  }

  /** Sends what fits the window: first what is only in memory, then what is on disk, oldest first. */
  #fill(): void {
    // Half a window at a time: each look costs a query.
    if (!this.#uplink || !this.#moreWait || this.#inFlight.size > WINDOW / 2) return;
    this.#settle();
    try {
      const waiting = [...this.#unstored.values(), ...this.#inbox.undelivered(2 * WINDOW + this.#acknowledged.size)];
      const done = [this.#inFlight, this.#acknowledged, this.#heldBack];
      const unsent = waiting.filter(({ uuid }) => !done.some((uuids) => uuids.has(uuid)));
      const room = WINDOW - this.#inFlight.size;
      this.#moreWait = unsent.length > room;
      for (const outcome of unsent.slice(0, room)) this.#send(outcome);
    } catch (error) {
      this.#log.error({ err: error }, 'the inbox can not be read');
    }
  }

  #send(outcome: CommandOutcome): void {
    if (!this.#uplink || this.#heldBack.has(outcome.uuid)) return;
    this.#inFlight.add(outcome.uuid);
    // Under the command's key: feedback that still waits to be sent is not sent after the outcome.
    this.#uplink.send({ ...outcome, inbox_version: this.#inbox.version }, outcome.uuid);
  }
}
