/**
 * Group commit of small writes: what is asked for in one turn of the event loop shares a transaction, and so a flush of the disk,
 * which takes longer than all else about it. While one group is written, the next one gathers.
 *
 * Order: works run, and hear of the commit, in the order in which they were asked for. Each is in a savepoint, so that one that
 * fails takes nothing of the others with it; where the store takes nothing, all fail, and with that error: what one of them found
 * before may have been of a neighbour that is undone now. Nothing is answered before the commit.
 */
import { CompiledQuery } from 'kysely';
import { storeTrouble } from './errors.js';
import type { Store, Tx } from './store.js';

/** How long `runLater` lets a work wait for others to go with. */
export const PATIENCE_MS = 25;

/** So many works, at most, keep everybody else from the store at once. */
const GROUP_MAX = 100;

/** With so many waiting, they don't wait for others. */
const PATIENT_MAX = 32;

const SAVEPOINT = CompiledQuery.raw('savepoint work');
const RELEASE = CompiledQuery.raw('release work');
const ROLLBACK = CompiledQuery.raw('rollback to work');

interface Work {
  readonly run: (tx: Tx) => Promise<unknown>;
  readonly committed: (result: unknown) => void;
  readonly failed: (error: unknown) => void;
}

type Result = { readonly value: unknown } | { readonly error: unknown };

export class CommitGroup {
  readonly #store: Store;
  #waiting: Work[] = [];
  #loop: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Runs `work` in the next group's transaction, which it must use for all that it reads and writes, and wait for nothing else;
   * resolves once that is on disk. `onCommitted` is called before that, in the order of the works; it must not throw.
   */
  run<T>(work: (tx: Tx) => Promise<T>, onCommitted?: (result: T) => void): Promise<T> {
    const result = this.#add(work, onCommitted);
    this.#loop ??= this.#run();
    return result;
  }

  /** The same for what nobody waits for: it goes with the next that is in a hurry, at the latest after PATIENCE_MS. */
  runLater<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const result = this.#add(work);
    if (this.#waiting.length >= PATIENT_MAX) this.#loop ??= this.#run();
    else if (!this.#loop) this.#wait();
    return result;
  }

  /** Resolves when all that was asked for is written, or has failed. */
  async settled(): Promise<void> {
    while (this.#loop || this.#waiting.length > 0) {
      this.#loop ??= this.#run();
      await this.#loop;
    }
  }

  #add<T>(work: (tx: Tx) => Promise<T>, onCommitted?: (result: T) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        run: work,
        committed: (result) => {
          try {
            onCommitted?.(result as T);
            resolve(result as T);
          } catch (error) {
            // A defect, and that work's own: the others are to hear of their commit, and the next group to be written.
            reject(error);
          }
        },
        failed: reject,
      });
    });
  }

  #wait(): void {
    this.#timer ??= setTimeout(() => {
      this.#loop ??= this.#run();
    }, PATIENCE_MS);
  }

  async #run(): Promise<void> {
    do {
      // The rest of this turn, in which what else came by the sockets joins the group.
      await new Promise((resolve) => setImmediate(resolve));
      clearTimeout(this.#timer);
      this.#timer = undefined;
      const group = this.#waiting.splice(0, GROUP_MAX);
      await this.#commit(group);
    } while (this.#waiting.length > 0);
    this.#loop = undefined;
  }

  /** Never rejects. */
  async #commit(group: readonly Work[]): Promise<void> {
    const results: Result[] = [];
    let failure: { readonly error: unknown } | undefined;
    try {
      await this.#store.db.transaction().execute(async (tx) => {
        const [first, ...others] = group;
        // One by itself is undone with the transaction.
        if (first && others.length === 0) results.push({ value: await first.run(tx) });
        else for (const work of group) results.push(await inSavepoint(tx, work));
      });
    } catch (error) {
      failure = { error };
    }
    for (const [at, work] of group.entries()) {
      const result = results[at];
      if (failure) work.failed(failure.error);
      else if (result && 'error' in result) work.failed(result.error);
      else work.committed(result?.value);
    }
  }
}

async function inSavepoint(tx: Tx, work: Work): Promise<Result> {
  await tx.executeQuery(SAVEPOINT);
  try {
    const value = await work.run(tx);
    await tx.executeQuery(RELEASE);
    return { value };
  } catch (error) {
    // A full disk, or a broken file, ends the transaction, whoever's row met it: there may be nothing to roll back to.
    if (storeTrouble(error)) throw error;
    await tx.executeQuery(ROLLBACK);
    await tx.executeQuery(RELEASE);
    return { error };
  }
}
