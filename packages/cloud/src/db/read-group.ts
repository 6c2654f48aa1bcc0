import { CompiledQuery } from 'kysely';
import type { Db, Store } from './store.js';

/** So many reads, at most, keep everybody else from the store at once. */
const GROUP_MAX = 100;

/** Not as a writer: reads wait for no other process. */
const BEGIN = CompiledQuery.raw('begin');
const COMMIT = CompiledQuery.raw('commit');
const ROLLBACK = CompiledQuery.raw('rollback');

interface Read {
  readonly run: (db: Db) => Promise<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads that are asked for in one turn of the event loop share a transaction, as writes do in a CommitGroup, without its
 * savepoints: one that fails has nothing to undo. For what thousands of robots ask for at once; each sees one state of the store.
 */
export class ReadGroup {
  readonly #store: Store;
  #waiting: Read[] = [];
  #isRunning = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Runs `read` in the next group's transaction: it writes nothing, and waits for nothing else. */
  run<T>(read: (db: Db) => Promise<T>): Promise<T> {
    const result = new Promise<T>((resolve, reject) => {
      this.#waiting.push({ run: read, resolve: (value) => resolve(value as T), reject });
    });
    if (!this.#isRunning) void this.#run();
    return result;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      // The rest of this turn, in which others join.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#read(this.#waiting.splice(0, GROUP_MAX));
    }
    this.#isRunning = false;
  }

  async #read(group: readonly Read[]): Promise<void> {
    try {
      await this.#store.db.connection().execute(async (db) => {
        await db.executeQuery(BEGIN);
        // In order, each after the one before; async: what a read throws at once rejects as well.
        for (const { run, resolve, reject } of group) await (async () => run(db))().then(resolve, reject);
        await ended(db);
      });
    } catch (error) {
      // It could not begin, or end: those that have their answer keep it.
      for (const { reject } of group) reject(error);
    }
  }
}

/** Leaves no transaction open on the one connection, whatever comes: the next one could not begin. */
async function ended(db: Db): Promise<void> {
  try {
    await db.executeQuery(COMMIT);
  } catch (error) {
    // SQLite may have rolled back by itself: what counts is why it could not commit.
    await db.executeQuery(ROLLBACK).catch(() => {});
    throw error;
  }
}
