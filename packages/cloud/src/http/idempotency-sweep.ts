import type { Logger } from 'pino';
import type { Db } from '../db/store.js';
import { sweepIdempotencyKeys } from './idempotency.js';

const SWEEP_MS = 10 * 60_000;

/** Forgets idempotency keys past their time, now and then. A key past its time counts for nothing, swept or not. */
export class IdempotencySweep {
  readonly #db: Db;
  readonly #log: Logger;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;

  constructor(options: { db: Db; log: Logger; now: () => number }) {
    this.#db = options.db;
    this.#log = options.log;
    this.#now = options.now;
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => {
      this.#sweeping ??= this.#sweep().finally(() => {
        this.#sweeping = undefined;
      });
    }, SWEEP_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping;
  }

  async #sweep(): Promise<void> {
    try {
      while ((await sweepIdempotencyKeys(this.#db, this.#now())) > 0);
    } catch (error) {
      this.#log.warn({ err: error }, 'idempotency keys not swept');
    }
  }
}
