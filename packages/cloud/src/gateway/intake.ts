/**
 * Takes and outcomes being written for one robot: at the first bound it is not read any more, at the second again, so
 * that a flood from one robot waits in its own socket and not before everybody's commands in the store.
 */
const WRITES_PAUSE_AT = 128;
const WRITES_RESUME_AT = 32;

/** The same for data on its way to the disk. An agent's own windows let it send some 2.5 MiB ahead of an acknowledgement. */
const DATA_PAUSE_BYTES = 4 * 1024 * 1024;
const DATA_RESUME_BYTES = 2 * 1024 * 1024;

/**
 * How much of what one robot said is still being stored, and whether it is read meanwhile. What a connection that is paused has
 * read already still comes: a chunk of its socket at most.
 */
export class Intake {
  readonly #connection: { pause(): void; resume(): void };
  #writes = 0;
  #bytes = 0;
  #paused = false;

  constructor(connection: { pause(): void; resume(): void }) {
    this.#connection = connection;
  }

  /** A command's take or outcome is being stored until `work` settles. */
  async write(work: Promise<void>): Promise<void> {
    await this.#during(1, 0, work);
  }

  /** Data is being stored until `work` settles. `mustWait`: this alone is reason enough not to read on. */
  async data(bytes: number, mustWait: boolean, work: Promise<void>): Promise<void> {
    await this.#during(0, mustWait ? DATA_PAUSE_BYTES : bytes, work);
  }

  async #during(writes: number, bytes: number, work: Promise<void>): Promise<void> {
    this.#count(writes, bytes);
    try {
      await work;
    } finally {
      this.#count(-writes, -bytes);
    }
  }

  #count(writes: number, bytes: number): void {
    this.#writes += writes;
    this.#bytes += bytes;
    if (!this.#paused && (this.#writes >= WRITES_PAUSE_AT || this.#bytes >= DATA_PAUSE_BYTES)) {
      this.#paused = true;
      this.#connection.pause();
    } else if (this.#paused && this.#writes <= WRITES_RESUME_AT && this.#bytes <= DATA_RESUME_BYTES) {
      this.#paused = false;
      this.#connection.resume();
    }
  }
}
