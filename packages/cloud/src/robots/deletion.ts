/**
 * Deletes what deleted robots have left, in small steps, so that requests and live data pass between them. The robot's own row
 * goes last: a kill at any moment leaves a robot that the next start goes on with.
 */
import type { Logger } from 'pino';
import type { Db } from '../db/store.js';
import { deletedRobotKeys } from './store.js';

/** Deletes at most `rowsMax` rows of a robot; returns how many it deleted. Each noun that keeps rows of robots has one. */
export type Purge = (db: Db, robotKey: number, rowsMax: number) => Promise<number>;

const STEP_ROWS = 500;
const PAUSE_MS = 5;
/** After a failure (a full disk, say). */
const RETRY_MS = 30_000;

export class RobotDeletion {
  readonly #db: Db;
  readonly #purges: readonly Purge[];
  readonly #log: Logger;
  #wanted = false;
  #stopping = false;
  #loop: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;

  /** @param purges in order: rows that refer to others first */
  constructor(options: { db: Db; purges: readonly Purge[]; log: Logger }) {
    this.#db = options.db;
    this.#purges = options.purges;
    this.#log = options.log;
  }

  /** Goes on with what an earlier run has left. */
  async start(): Promise<void> {
    this.wake();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#retry);
    await this.#loop;
  }

  /** There may be a robot to delete. */
  wake(): void {
    this.#wanted = true;
    if (!this.#stopping) this.#loop ??= this.#run();
  }

  /** Resolves when nothing is left to do, or has failed for now. */
  async settled(): Promise<void> {
    await this.#loop;
  }

  async #run(): Promise<void> {
    try {
      while (this.#wanted && !this.#stopping) {
        this.#wanted = false;
        for (const { key } of await deletedRobotKeys(this.#db).execute()) await this.#delete(key);
      }
    } catch (error) {
      this.#log.error({ err: error, retry_ms: RETRY_MS }, 'deleting a robot’s data failed');
      this.#retry = setTimeout(() => this.wake(), RETRY_MS).unref();
    } finally {
      this.#loop = undefined;
    }
  }

  async #delete(robotKey: number): Promise<void> {
    for (const purge of this.#purges) {
      while (!this.#stopping && (await purge(this.#db, robotKey, STEP_ROWS)) > 0) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
    if (this.#stopping) return;
    await this.#db.deleteFrom('robots').where('key', '=', robotKey).execute();
    this.#log.info({ robot_key: robotKey }, 'deleted robot’s data is gone');
  }
}
