import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { BENCHMARKS } from './catalogue.js';

const run = promisify(execFile);
const program = fileURLToPath(new URL('dist/main.js', import.meta.url));

interface ToldRow {
  readonly row: { readonly what: string; readonly ours?: (number | null)[]; readonly notMeasured?: string };
}

/** What each must yield at least: by the beginnings of its rows. */
const ROWS: Readonly<Record<string, readonly string[]>> = {
  ingest: [
    'durable ingest, 10 senders',
    'durable ingest, against the faster statement',
    'gateway CPU of a point',
    'durable ingest, against MQTT',
    'durable ingest, 1 real agent',
  ],
  commands: ['command round trip'],
  agent: ['command taken → published', 'command taken → served', 'agent RSS, idle'],
  memory: [
    'gateway memory of an idle session, 10',
    'gateway memory of an idle session, 20 robots',
    'gateway memory of an idle session, 20 robots beside 10',
  ],
  vitals: ['gateway CPU, 10 robots', 'gateway CPU, 20 robots'],
  flip: [
    ...['a restart under 10 robots', 'sessions that came back and were lost again', 'the slowest command meanwhile'],
    ...['attempts that timed out', 'commands to random robots', 'of them executed'],
  ],
  rows: [
    ...['latest 1', 'latest 50', 'a time range of 50', '/robots with 50', '/commands page'],
    ...['durable ingest at', 'bytes on disk of a point'],
  ],
  chunks: [
    'chunks, 10 points of a stream in a batch: stored',
    'packed chunks, 10 points of a stream in a batch: latest 50',
  ],
  spool: ['bytes an agent writes to disk', 'flushes'],
  sampling: ['agent CPU of sampling, String 1 kHz'],
};

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'drover-bench-smoke-'));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

it.each(BENCHMARKS.map(({ name }) => name))(
  'the smoke form of %s runs on the real parts and yields its rows',
  async (name) => {
    const out = await folder();
    await run(process.execPath, [program, name, '--smoke', '--out', out]);
    const { benchmarks } = JSON.parse(await readFile(join(out, 'bench.json'), 'utf8')) as {
      benchmarks: { rows: ToldRow[] }[];
    };
    const rows = benchmarks.flatMap((benchmark) => benchmark.rows.map(({ row }) => row));
    for (const beginning of ROWS[name] ?? [name]) {
      const row = rows.find(({ what }) => what.startsWith(beginning));
      expect(row, beginning).toBeDefined();
      // No figure is held against anything, but each must be one: NaN is null in JSON.
      if (row?.notMeasured === undefined) expect(row?.ours, beginning).toEqual([expect.any(Number)]);
    }
    expect(await readFile(join(out, 'bench.md'), 'utf8')).toContain('| what | unit |');
  },
  // Seconds where nobody else is; this is for a machine that runs other tests, and builds, beside it.
  300_000,
);

it('refuses a name that is none of theirs, and says which there are', async () => {
  const refused = run(process.execPath, [program, 'ingets', '--smoke']);
  await expect(refused).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('there are ingest, commands'),
  });
});
