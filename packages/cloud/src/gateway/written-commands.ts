/** Commands, and cancels, written on one connection and not ended: none is written to it twice. While there are none, hardly any memory. */
export class WrittenCommands {
  #commands: Set<string> | undefined;
  #cancels: Set<string> | undefined;

  has(uuid: string): boolean {
    return this.#commands?.has(uuid) ?? false;
  }

  add(uuid: string): void {
    this.#commands ??= new Set();
    this.#commands.add(uuid);
  }

  /** False where its cancel was written before. */
  addCancel(uuid: string): boolean {
    this.#cancels ??= new Set();
    if (this.#cancels.has(uuid)) return false;
    this.#cancels.add(uuid);
    return true;
  }

  ended(uuid: string): void {
    this.#commands = without(this.#commands, uuid);
    this.#cancels = without(this.#cancels, uuid);
  }
}

function without(uuids: Set<string> | undefined, uuid: string): Set<string> | undefined {
  uuids?.delete(uuid);
  return uuids?.size === 0 ? undefined : uuids;
}
