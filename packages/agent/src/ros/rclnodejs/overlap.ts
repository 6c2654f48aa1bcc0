import { createHash } from 'node:crypto';

/** Messages remembered of each reader; past that the memory begins anew, and a message may come twice. */
const REMEMBERED_MAX = 10_000;

type Reader = 'old' | 'new';

/**
 * Two readers of one topic for the time in which one takes over from the other: each message is to be handed over once,
 * whichever of them received it, or both. Messages have no identity here but their bytes: two equal messages are two, as
 * long as each reader receives both.
 */
export class Overlap {
  readonly #unpaired: Record<Reader, Map<string, number>> = { old: new Map(), new: new Map() };

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
    if (own.size >= REMEMBERED_MAX) own.clear();
    own.set(key, (own.get(key) ?? 0) + 1);
    return true;
  }
}
