/** Robots that replay batches as fast as their acknowledgements allow, all in one process (senders-process of ingest.ts). */

import { serve } from '../harness/serve.js';
import { messages } from '../links/messages.js';
import { RawSession } from '../links/raw-session.js';
import { ReplayBatch } from './replay.js';

/** As an agent: some 2.5 MiB ahead of an acknowledgement at most. */
const BATCHES_AHEAD = 8;

class Sender {
  readonly #session: RawSession;
  readonly #first: ReplayBatch;
  readonly #others: readonly ReplayBatch[];
  #sentSeq = 0;
  #turn = 0;

  constructor(session: RawSession, first: ReplayBatch, others: readonly ReplayBatch[]) {
    this.#session = session;
    this.#first = first;
    this.#others = others;
  }

  /** Sends until then; resolves with the rows when all of them are on the cloud's disk. */
  async flood(untilMs: number): Promise<number> {
    const before = this.#session.acked;
    while (performance.now() < untilMs) {
      const batch = this.#sentSeq === 0 ? this.#first : this.#others[this.#turn % this.#others.length];
      if (!batch) throw new Error('nothing to send');
      batch.aim(this.#sentSeq + 1, Date.now());
      // Masked into a copy by ws: the frames are free for the next.
      this.#session.write(batch.frames);
      this.#sentSeq += batch.rows;
      this.#turn += 1;
      await this.#session.until(() => this.#sentSeq - this.#session.acked <= BATCHES_AHEAD * batch.rows);
      // A turn for the other senders.
      await new Promise((resolve) => setImmediate(resolve));
    }
    await this.#session.until(() => this.#session.acked === this.#sentSeq);
    return this.#session.acked - before;
  }
}

let senders: Sender[] = [];

serve({
  open: async ({ url, tokens, rows, sources }: { url: string; tokens: string[]; rows: number; sources: number }) => {
    const opened: Sender[] = [];
    for (const [seed, token] of tokens.entries()) {
      const session = await RawSession.open(url, token);
      const walks = await Promise.all([messages(rows, 2 * seed), messages(rows, 2 * seed + 1)]);
      const make = (at: 0 | 1, first: boolean) => {
        return new ReplayBatch({ spoolId: session.spoolId, messages: walks[at], sources, first });
      };
      opened.push(new Sender(session, make(0, true), [make(1, false), make(0, false)]));
    }
    senders = opened;
  },
  flood: async ({ ms }: { ms: number }) => {
    const startMs = performance.now();
    const rows = await Promise.all(senders.map((sender) => sender.flood(startMs + ms)));
    return { rows: rows.reduce((sum, own) => sum + own, 0), seconds: (performance.now() - startMs) / 1000 };
  },
});
