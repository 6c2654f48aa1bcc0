import { createHash } from 'node:crypto';

/** Messages remembered of each reader; past that the oldest is forgotten, and could come twice. */
const REMEMBERED_MAX = 10_000;

type Reader = 'old' | 'new';

/**
 * Two readers of one topic while one takes over from the other: each message is to be handed over once, whichever of
 * them received it, or both. Messages have no identity here but their bytes: two equal messages are two, as long as each
 * reader receives both.
 *
 * What a reader received before the other was there may come again as a publisher's history, or not at all, and then an
 * equal message published later would be taken for it and lost. At most so many of equal bytes as a reader can hold
 * (`historyMax`) are lost so, and only while an overlap lasts.
 */
export class Overlap {
  readonly #historyMax: number;
  #unpaired: Record<Reader, Map<string, number>> = { old: new Map(), new: new Map() };

  /** @param historyMax how many messages of a history a reader holds at most: its depth. */
  constructor(historyMax: number) {
    this.#historyMax = historyMax;
  }

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
    const old = new Map<string, number>();
    for (const [key, count] of this.#unpaired.new) old.set(key, Math.min(count, this.#historyMax));
    this.#unpaired = { old, new: new Map() };
  }
}
