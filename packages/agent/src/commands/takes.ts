import type { CommandTaken } from '@drover/shared/link/command';
import type { UpMessage } from '@drover/shared/link/up';
import type { Uplink } from '../link/link.js';

/**
 * Tells the cloud what was taken, at the end of the turn of the event loop: what a command does comes first, and one that has ended
 * by then is told with its end, in one go, which costs both sides one turn instead of two while they have better to do. A crash
 * before costs that the cloud sends the command again, and is answered from the inbox.
 */
export class Takes {
  #uplink: Uplink | null = null;
  /** By uuid, in the order in which they were first taken: the newest word of each. */
  readonly #waiting = new Map<string, CommandTaken>();
  #telling: NodeJS.Immediate | null = null;

  /** @returns the uplink for all else: what is sent there follows what was taken before. */
  opened(uplink: Uplink): Uplink {
    this.closed();
    this.#uplink = uplink;
    return {
      send: (message: UpMessage, key: string | null = null) => {
        this.flush();
        uplink.send(message, key);
      },
    };
  }

  /** What waits is for nobody any more: the cloud asks in the next session. */
  closed(): void {
    this.#uplink = null;
    this.#waiting.clear();
    this.#stopWaiting();
  }

  add(taken: CommandTaken): void {
    if (!this.#uplink) return;
    this.#waiting.set(taken.uuid, taken);
    this.#telling ??= setImmediate(() => this.flush());
  }

  /** Tells what waits. */
  flush(): void {
    if (this.#waiting.size === 0) return;
    this.#stopWaiting();
    const takes = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const taken of takes) this.#uplink?.send(taken);
  }

  #stopWaiting(): void {
    if (this.#telling) clearImmediate(this.#telling);
    this.#telling = null;
  }
}
