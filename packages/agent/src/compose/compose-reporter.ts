import type { ComposeStatus } from '@drover/shared/link/compose-status';
import { COMPOSE_SINCE_VERSION } from '@drover/shared/link/protocol';
import type { Welcome } from '@drover/shared/link/welcome';

/** What changes faster than this is told once, as it stands then. */
export const COMPOSE_STATUS_MS_MIN = 500;

export interface ComposeUplink {
  /** With a key, the message takes the place of one that waits under the same key. */
  send(message: ComposeStatus, key?: string | null): void;
}

/**
 * Tells the cloud how the robot stands with its compose file, whole each time: when a session opens, and then when it has changed, every
 * COMPOSE_STATUS_MS_MIN at most. Nothing is kept: what is lost with its session is told by the next.
 */
export class ComposeReporter {
  readonly #status: () => ComposeStatus | null;
  #uplink: ComposeUplink | null = null;
  #told: string | null = null;
  #timer: NodeJS.Timeout | null = null;

  /** @param status null: there is nothing to tell. */
  constructor(status: () => ComposeStatus | null) {
    this.#status = status;
  }

  opened(uplink: ComposeUplink, welcome: Pick<Welcome, 'link_version'>): void {
    if (welcome.link_version < COMPOSE_SINCE_VERSION) return;
    this.#uplink = uplink;
    this.#told = null;
    this.changed();
  }

  closed(): void {
    this.#uplink = null;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Something may have changed. */
  changed(): void {
    if (!this.#uplink || this.#timer) return;
    // What changes in the same turn, a state and the phase that ends with it say, goes together.
    this.#tellIn(0);
  }

  #tellIn(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#tell()) this.#tellIn(COMPOSE_STATUS_MS_MIN);
    }, ms).unref();
  }

  #tell(): boolean {
    const status = this.#status();
    if (status === null) return false;
    const text = JSON.stringify(status);
    if (text === this.#told) return false;
    this.#told = text;
    this.#uplink?.send(status, 'compose_status');
    return true;
  }
}
