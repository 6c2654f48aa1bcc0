import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Benchmark, Context, Row } from '../harness/benchmark.js';
import { Child } from '../harness/child.js';
import { interleaved } from '../harness/windows.js';
import type { Asked, FormName, Told } from './store.js';

/** Points of a stream in a batch; streams of 1 Hz that are uploaded each second have one. */
const TOGETHER = [1, 10, 100, 1_000];
/** Of which the reads are shown: merged chunks look alike, whatever they were made of. */
const READ_TOGETHER = 10;

export const chunks: Benchmark = {
  name: 'chunks',
  summary: 'points packed in chunks, merged in the background, beside a row a point: a choice, without goals',
  run: async (context) => {
    const rows: Row[] = [];
    for (const together of context.smoke ? [READ_TOGETHER] : TOGETHER) {
      rows.push(...(await compared(context, { points: pointsOf(context, together), together, isRandom: false })));
    }
    rows.push(...(await compared(context, { points: pointsOf(context, 100), together: 100, isRandom: true })));
    return { rows, facts: { streams: 'at least 100', mergedAtOnce: 16, chunkPoints: 1_000 } };
  },
};

/** Many where reads are shown. */
function pointsOf(context: Context, together: number): number {
  if (context.smoke) return 12_000;
  return together === READ_TOGETHER ? 1_000_000 : 300_000;
}

type Load = Pick<Asked, 'points' | 'together' | 'isRandom'>;

async function compared(context: Context, load: Load): Promise<Row[]> {
  const sizes = { messages: context.smoke ? 2_000 : 20_000, reads: context.smoke ? 10 : 200 };
  const window = (form: FormName) => async () => {
    const child = new Child('chunks/store');
    try {
      return await child.ask<Told>('measure', { ...load, ...sizes, form, dir: join(context.dir, randomUUID()) });
    } finally {
      await child.stop();
    }
  };
  const told = await interleaved(
    { windows: context.windows, smoke: true },
    { rows: window('rows'), chunks: window('chunks'), 'packed chunks': window('packed chunks') },
  );
  context.say(`${load.together} together${load.isRandom ? ', random' : ''}: measured`);
  const what = `${load.together} points of a stream in a batch${load.isRandom ? ', random bytes' : ''}`;
  const row = (form: FormName, title: string, unit: string, of: (one: Told) => number): Row => ({
    ...{ what: `${form}, ${what}: ${title}`, unit, ours: told[form].map(of) },
    peer: { name: 'a row a point', values: told.rows.map(of) },
  });
  return (['chunks', 'packed chunks'] as const).flatMap((form) => [
    row(form, 'stored', 'points/s', (one) => one.pointsAS),
    row(form, 'CPU of a point', 'µs', (one) => one.cpuUsAPoint),
    row(form, 'on disk', 'bytes a point', (one) => one.bytesAPoint),
    ...(load.together === READ_TOGETHER
      ? [
          ...Object.keys(told.rows[0]?.reads ?? {}).map((name) =>
            row(form, name, 'µs', (one) => one.reads[name] ?? Number.NaN),
          ),
          row(form, 'CPU of removing a point', 'µs', (one) => one.removalUsAPoint),
        ]
      : []),
  ]);
}
