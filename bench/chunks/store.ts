/** A store of one form in a process of its own: filled, read, and relieved of its oldest points. */
import { createHash, randomFillSync } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openStore, STORE_FILE } from '@drover/cloud/dist/db/store.js';
import { serve } from '../harness/serve.js';
import { quantile } from '../harness/windows.js';
import { messages } from '../links/messages.js';
import { Chunks, type Form, type Piece, Rows } from './forms.js';

export type FormName = 'rows' | 'chunks' | 'packed chunks';

export interface Asked {
  readonly dir: string;
  readonly form: FormName;
  readonly points: number;
  /** Of a stream in a batch. */
  readonly together: number;
  readonly isRandom: boolean;
  /** That differ: many more than a chunk holds. */
  readonly messages: number;
  /** Of each kind. */
  readonly reads: number;
}

export interface Told {
  readonly pointsAS: number;
  readonly cpuUsAPoint: number;
  readonly bytesAPoint: number;
  /** Medians, microseconds. */
  readonly reads: Readonly<Record<string, number>>;
  readonly removalUsAPoint: number;
}

const POINTS_A_BATCH = 1_000;
/** As the cloud commits what several robots send. */
const BATCHES_A_COMMIT = 4;
const STREAMS_MIN = 100;
const STEP_MS = 10;

serve({
  measure: async ({ dir, form: name, points, together, isRandom, ...asked }: Asked): Promise<Told> => {
    const store = openStore({ dataDir: dir, nowMs: Date.now() });
    const raw = await store.exclusive((handle) => handle);
    const form: Form = name === 'rows' ? new Rows(raw) : new Chunks(raw, name === 'packed chunks');
    const { cdrs } = await messages(asked.messages, 3);
    if (isRandom) for (const cdr of cdrs) randomFillSync(cdr);
    const bytes = () => {
      raw.pragma('wal_checkpoint(TRUNCATE)');
      return statSync(join(dir, STORE_FILE)).size;
    };
    const streams = Math.max(STREAMS_MIN, POINTS_A_BATCH / together);
    let turn = 0;
    const batch = (): Piece[] => {
      return Array.from({ length: POINTS_A_BATCH / together }, () => {
        const [source, round] = [turn % streams, Math.floor(turn / streams)];
        turn += 1;
        const stampsMs = Array.from({ length: together }, (_row, row) => (round * together + row + 1) * STEP_MS);
        // Each stream goes on along the walk: were a chunk to hold a message twice, packing would be flattered.
        const from = (source * 997 + round * together) % (cdrs.length - together);
        return { source: source + 1, stampsMs, cdrs: cdrs.slice(from, from + together) };
      });
    };
    const commit = raw.transaction(() => {
      for (let at = 0; at < BATCHES_A_COMMIT; at += 1) form.add(batch());
    });
    const tidy = raw.transaction(() => form.tidy());

    const empty = bytes();
    const [startMs, startCpu] = [performance.now(), process.cpuUsage()];
    for (let at = 0; at < points; at += POINTS_A_BATCH * BATCHES_A_COMMIT) {
      commit.immediate();
      tidy.immediate();
    }
    const cpu = process.cpuUsage(startCpu);
    const seconds = (performance.now() - startMs) / 1000;
    const bytesAPoint = (bytes() - empty) / points;

    const middleMs = Math.floor(points / streams / 2) * STEP_MS;
    const reads = {
      'latest 1': took(asked.reads, streams, (source) => form.latest(source, 1, Number.MAX_SAFE_INTEGER).length === 1),
      'latest 50': took(
        asked.reads,
        streams,
        (source) => form.latest(source, 50, Number.MAX_SAFE_INTEGER).length === 50,
      ),
      'a time range of 50': took(asked.reads, streams, (source) => form.latest(source, 50, middleMs).length === 50),
      'one by its uuid': took(asked.reads, streams, (source) => form.at(source, middleMs, isNamed) !== undefined),
    };

    const removedOf = raw.transaction(() => form.removeOldest(500));
    const removalCpu = process.cpuUsage();
    let removed = 0;
    while (removed < points / 10) removed += removedOf.immediate();
    const removal = process.cpuUsage(removalCpu);
    await store.close();
    rmSync(dir, { recursive: true });
    return {
      ...{ pointsAS: points / seconds, cpuUsAPoint: (cpu.user + cpu.system) / points, bytesAPoint, reads },
      removalUsAPoint: (removal.user + removal.system) / removed,
    };
  },
});

/** A uuid is a hash: what it costs to compare one. */
function isNamed(place: number): boolean {
  return createHash('sha1').update(String(place)).digest().length > 0;
}

function took(times: number, streams: number, read: (source: number) => boolean): number {
  const us: number[] = [];
  for (let at = 0; at < times; at += 1) {
    const startMs = performance.now();
    if (!read((at % streams) + 1)) throw new Error('a read did not find what is there');
    us.push((performance.now() - startMs) * 1000);
  }
  return quantile(us, 0.5);
}
