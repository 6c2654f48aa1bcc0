import type { Desired } from '@drover/shared/link/desired';
import type { Logger } from 'pino';

/**
 * The compose file assigned to this robot. It is kept with the desired state and shown as pending; nothing is applied
 * yet.
 */
export class ComposeAssignment {
  readonly #log: Logger;
  #pending: Desired['compose'] = null;

  constructor(log: Logger) {
    this.#log = log.child({ part: 'compose' });
  }

  apply(assigned: Desired['compose']): void {
    const before = this.#pending;
    this.#pending = assigned;
    if (before?.id === assigned?.id && before?.version === assigned?.version) return;
    if (assigned) this.#log.info({ compose: assigned.id, version: assigned.version }, 'compose file assigned; pending');
    else this.#log.info('no compose file assigned any more');
  }
}
