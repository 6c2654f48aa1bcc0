import { copyFileSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { STORE_FILE } from '@drover/cloud/dist/db/store.js';
import { API_KEY, TestCloud } from '#test/support/cloud';
import { type Benchmark, type Context, type Plot, type Row, ratioAtLeast, ratioAtMost } from '../harness/benchmark.js';
import { Child } from '../harness/child.js';
import { HttpClient } from '../harness/http-client.js';
import { interleaved, spreadOf } from '../harness/windows.js';
import { messages } from '../links/messages.js';
import { seedRobots } from '../sessions/seeded-robots.js';
import { type Asked, type Held, READ_NAMES, readLatencies } from './reads.js';

const ROBOTS_WITH_DATA = 10;
const SOURCES = 10;
const SERIES = ROBOTS_WITH_DATA * SOURCES;
const SENDERS = 10;

interface Ingest {
  readonly ingestMs: number;
  readonly batchRows: number;
}

const INGEST: Ingest = { ingestMs: 5_000, batchRows: 1_000 };
/** Most of a short window's time would go into making its batches. */
const SMOKE_INGEST: Ingest = { ingestMs: 200, batchRows: 100 };

export const rows: Benchmark = {
  name: 'rows',
  summary: 'reads, ingest rate and bytes on disk at 10 M rows, beside the same at 100 k',
  run: async (context) => {
    const steps = context.smoke ? [10_000, 20_000] : [100_000, 1_000_000, 10_000_000];
    const robots = context.smoke ? 50 : 10_000;
    const [few = 0, many = 0] = [steps[0], steps.at(-1)];
    const sizes = context.smoke ? { requests: 5, ...SMOKE_INGEST } : { requests: 200, ...INGEST };
    const small = await FilledCloud.start(context, 'small', robots);
    const large = await FilledCloud.start(context, 'large', robots);
    await small.fillTo(few);
    small.snapshot();

    // The curves' middle: on a copy, for what adds rows.
    const middle: Step[] = [];
    for (const step of steps.slice(1, -1)) {
      await large.fillTo(step);
      large.snapshot();
      context.say(`filled with ${step} rows`);
      const reads: Record<string, number> = {};
      for (const name of READ_NAMES) {
        const [ms = Number.NaN] = await readInTurn([large], name, sizes.requests);
        reads[name] = ms;
      }
      middle.push({ rows: step, reads, ingest: await large.ingestRate(sizes) });
      await large.restore();
    }
    await large.fillTo(many);
    context.say(`filled with ${many} rows`);

    const reads: Record<string, Record<'many' | 'few', number[]>> = {};
    for (const name of READ_NAMES) {
      const { both } = await interleaved(context, { both: () => readInTurn([large, small], name, sizes.requests) });
      reads[name] = { many: both.map(([ms = Number.NaN]) => ms), few: both.map(([, ms = Number.NaN]) => ms) };
    }
    const ingest = await interleaved(context, {
      // A new process each: the small one needs it, to have its store set back, and a warm one is faster.
      many: async () => {
        await large.restart();
        return await large.ingestRate(sizes);
      },
      few: async () => {
        await small.restore();
        return await small.ingestRate(sizes);
      },
    });
    const against = `the same at ${few} rows`;
    const of = (size: 'many' | 'few', name: string) => reads[name]?.[size] ?? [];
    const medians = (size: 'many' | 'few') => {
      return Object.fromEntries(READ_NAMES.map((name) => [name, spreadOf(of(size, name)).median]));
    };
    const measured: Row[] = READ_NAMES.map((name) => ({
      ...{ what: `${name === '/robots' ? `/robots with ${robots}` : name}, at ${many} rows`, unit: 'ms' },
      ...{ ours: of('many', name), peer: { name: against, values: of('few', name) }, goal: ratioAtMost(1.5) },
    }));
    measured.push({
      ...{ what: `durable ingest at ${many} rows`, unit: 'points/s', ours: ingest.many },
      ...{ peer: { name: against, values: ingest.few }, goal: ratioAtLeast(0.8) },
    });
    const payload = (await messages(1_000, 7)).bytes;
    measured.push({
      ...{ what: `bytes on disk of a point, at ${many} rows`, unit: 'bytes', ours: [large.bytesAPoint] },
      ...{ peer: { name: 'its message', values: [payload] }, goal: ratioAtMost(1.6) },
    });
    const first = { rows: few, reads: medians('few'), ingest: spreadOf(ingest.few).median };
    const last = { rows: many, reads: medians('many'), ingest: spreadOf(ingest.many).median };
    return { rows: measured, plots: plotsOf([first, ...middle, last]), facts: { steps, robots, series: SERIES } };
  },
};

interface Step {
  readonly rows: number;
  readonly reads: Record<string, number>;
  readonly ingest: number;
}

function plotsOf(curve: readonly Step[]): Plot[] {
  const x = { label: 'rows in the store', isLog: true };
  const readsOf = (name: string) => curve.map(({ rows: at, reads }) => [at, reads[name] ?? 0] as const);
  return [
    {
      ...{ name: 'reads-by-rows', title: 'Reads against rows', x, y: { label: 'median, ms' } },
      lines: READ_NAMES.filter((name) => name !== '/robots').map((name) => ({ name, points: readsOf(name) })),
    },
    {
      ...{ name: 'ingest-by-rows', title: 'Ingest against rows', x, y: { label: 'points a second' } },
      lines: [
        { name: 'through link, gateway and store', points: curve.map((step) => [step.rows, step.ingest] as const) },
      ],
    },
  ];
}

async function readInTurn(clouds: readonly FilledCloud[], name: string, requests: number): Promise<number[]> {
  const asked = clouds.map((cloud) => cloud.asked());
  try {
    return await readLatencies(asked, name, requests);
  } finally {
    for (const { client } of asked) client.close();
  }
}

/** A real cloud on a store that was filled to a size. */
class FilledCloud {
  readonly #cloud: TestCloud;
  readonly #snapshot: string;
  readonly #senders: readonly string[];
  #points = 0;
  /** Since its snapshot. */
  #isChanged = false;
  #pointBytes = 0;

  private constructor(cloud: TestCloud, snapshot: string, senders: readonly string[]) {
    this.#cloud = cloud;
    this.#snapshot = snapshot;
    this.#senders = senders;
  }

  static async start(context: Context, name: string, robots: number): Promise<FilledCloud> {
    const cloud = await TestCloud.start({ DROVER_RETENTION_GB: 'off' }, join(context.dir, name));
    context.onEnd(() => cloud.stop());
    // Its file without a log beside it, and no tokens to be asked for; `fillTo` starts it again.
    await cloud.process.stop();
    const tokens = seedRobots(cloud.dataDir, robots + SENDERS);
    const snapshots = join(context.dir, 'snapshots');
    mkdirSync(snapshots, { recursive: true });
    return new FilledCloud(cloud, join(snapshots, `${name}.db`), tokens.slice(robots));
  }

  get bytesAPoint(): number {
    return this.#pointBytes / (this.#points * SERIES);
  }

  get #held(): Held {
    return { robots: ROBOTS_WITH_DATA, sources: SOURCES, points: this.#points };
  }

  /** To so many points in all, and a command for each hundred. */
  async fillTo(points: number): Promise<void> {
    const to = Math.floor(points / SERIES);
    await this.#cloud.process.stop();
    const before = this.#storeBytes();
    const filler = new Child('rows/fill');
    try {
      const { dataDir } = this.#cloud;
      const more = { robots: ROBOTS_WITH_DATA, sources: SOURCES, from: this.#points, to };
      await filler.ask('fill', { dataDir, ...more });
      this.#pointBytes += this.#storeBytes() - before;
      await filler.ask('commands', { dataDir, count: Math.ceil(((to - this.#points) * SERIES) / 100) });
    } finally {
      await filler.stop();
    }
    this.#points = to;
    await this.#cloud.restart();
  }

  /** Keeps the store as it is now; right after `fillTo`, when nothing of it is in the log. */
  snapshot(): void {
    copyFileSync(join(this.#cloud.dataDir, STORE_FILE), this.#snapshot);
  }

  /** The same store, in a new process. */
  async restart(): Promise<void> {
    await this.#cloud.restart();
  }

  /** The store as it was at the snapshot, in a new process. */
  async restore(): Promise<void> {
    const file = join(this.#cloud.dataDir, STORE_FILE);
    await this.#cloud.restart(() => {
      if (!this.#isChanged) return;
      this.#isChanged = false;
      for (const part of ['-wal', '-shm']) rmSync(file + part, { force: true });
      copyFileSync(this.#snapshot, file);
    });
  }

  /** To be read from; its client is the caller's to close. */
  asked(): Asked {
    return { client: new HttpClient(this.#cloud.url, { 'svc-api-key': API_KEY }), held: this.#held };
  }

  /** Points a second of senders that are new to this cloud. */
  async ingestRate({ ingestMs: ms, batchRows }: Ingest): Promise<number> {
    this.#isChanged = true;
    const senders = new Child('ingest/senders');
    try {
      await senders.ask('open', { url: this.#cloud.url, tokens: this.#senders, rows: batchRows, sources: SOURCES });
      // Once to warm up.
      await senders.ask('flood', { ms: ms / 5 });
      const { rows: sent, seconds } = await senders.ask<{ rows: number; seconds: number }>('flood', { ms });
      return sent / seconds;
    } finally {
      await senders.stop();
    }
  }

  #storeBytes(): number {
    return statSync(join(this.#cloud.dataDir, STORE_FILE)).size;
  }
}
