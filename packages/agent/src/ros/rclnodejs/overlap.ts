import { createHash } from 'node:crypto';

/** Messages remembered of each reader; past that the oldest is forgotten, and could come twice. */
const REMEMBERED_MAX = 10_000;

type Reader = 'old' | 'new';

/**
 * Two readers of one topic while one takes over from the other: each message is to be handed over once, whichever of
 * them received it, or both. Messages have no identity here but their bytes: two equal messages are two, as long as each
 * reader receives both.
 */
export class Overlap {
  #unpaired: Record<Reader, Map<string, number>> = { old: new Map(), new: new Map() };

  /** Whether the message is the first of its two copies, and so to be handed over. */
  isFirst(reader: Reader, cdr: Uint8Array): boolean {
    const key = createHash('sha1').update(cdr).digest('base64');
    const others = this.#unpaired[reader === 'old' ? 'new' : 'old'];
    const paired = others.get(key);
    if (paired !== undefined) {
      if (paired === 1) others.delete(key);
      else others.set(key, paired - 1);
      return false;
    }
    const own = this.#unpaired[reader];
    own.set(key, (own.get(key) ?? 0) + 1);
    if (own.size > REMEMBERED_MAX) own.delete(own.keys().next().value ?? key);
    return true;
  }

  /** The new reader is the old one from now on. */
  handOver(): void {
    this.#unpaired = { old: this.#unpaired.new, new: new Map() };
  }
}
