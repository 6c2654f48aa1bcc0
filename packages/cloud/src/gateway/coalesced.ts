/** Runs one action so that it never overlaps itself, and once more after each call that came while it ran. */
export class Coalesced {
  #running: Promise<void> | undefined;
  #again = false;

  /** @param action the same each time: not kept, since ten thousand sessions have two of these each */
  run(action: () => Promise<void>): Promise<void> {
    if (this.#running) {
      this.#again = true;
      return this.#running;
    }
    this.#running = this.#loop(action);
    return this.#running;
  }

  async #loop(action: () => Promise<void>): Promise<void> {
    try {
      do {
        this.#again = false;
        await action();
      } while (this.#again);
    } finally {
      // In the same turn as the last look at #again: a call in between would wait for a run that never comes.
      this.#running = undefined;
    }
  }
}
