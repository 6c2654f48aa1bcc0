/** Runs an action so that it never overlaps itself, and once more after each call that came while it ran. */
export class Coalesced {
  readonly #action: () => Promise<void>;
  #running: Promise<void> | undefined;
  #again = false;

  constructor(action: () => Promise<void>) {
    this.#action = action;
  }

  run(): Promise<void> {
    if (this.#running) {
      this.#again = true;
      return this.#running;
    }
    this.#running = this.#loop();
    return this.#running;
  }

  async #loop(): Promise<void> {
    try {
      do {
        this.#again = false;
        await this.#action();
      } while (this.#again);
    } finally {
      // In the same turn as the last look at #again: a call in between would wait for a run that never comes.
      this.#running = undefined;
    }
  }
}
