import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ratioAtLeast, ratioAtMost } from './harness/benchmark.js';
import { machine as machineFacts } from './harness/machine.js';
import { svgOf } from './harness/plot.js';
import { type Outcome, report } from './harness/report.js';
import { judged, table } from './harness/table.js';
import { interleaved, spreadOf } from './harness/windows.js';
import { failedAttempts } from './sessions/failed-attempts.js';

function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'drover-report-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

describe('a row', () => {
  const row = { what: 'ingest', unit: 'points/s', ours: [50, 80, 60] };
  const peer = { name: 'SQLite alone', values: [100, 100, 60] };

  it('holds where the median of its windows’ ratios does, not the ratio of the medians', () => {
    expect(judged({ ...row, peer, goal: ratioAtLeast(0.8) })).toMatchObject({
      ratio: { min: 0.5, median: 0.8, max: 1 },
      holds: true,
    });
    expect(judged({ ...row, peer, goal: ratioAtLeast(0.81) })).toMatchObject({ holds: false });
    expect(judged({ ...row, peer, goal: ratioAtMost(0.8) })).toMatchObject({ holds: true });
  });

  it('holds too where it is no more above its peer than it may be, in the row’s unit', () => {
    const goal = ratioAtMost(1.15, { orMore: 1 });
    const small = { ...row, peer: { name: 'poll', values: [2, 3, 4] } };
    expect(judged({ ...small, ours: [3, 3.9, 5.5], goal })).toMatchObject({ holds: true });
    expect(judged({ ...small, ours: [3, 4.1, 5.5], goal })).toMatchObject({ holds: false });
    expect(judged({ ...row, ours: [110, 110, 60], peer, goal })).toMatchObject({ holds: true });
    expect(table([judged({ ...small, goal })])).toContain('| ≤ 1.15× or + 1 points/s |');
  });

  it('holds in each window where it must, not in most', () => {
    const goal = { of: 'ours', is: 'at most', bound: 0, inEach: true } as const;
    expect(judged({ ...row, ours: [0, 0, 0], goal })).toMatchObject({ holds: true });
    expect(judged({ ...row, ours: [0, 0, 1], goal })).toMatchObject({ holds: false });
    expect(table([judged({ ...row, goal })])).toContain('| ≤ 0 points/s in each window | **no** |');
  });

  it('has no verdict without a goal, in a smoke run, or where nothing was measured to hold it against', () => {
    expect(judged({ ...row, peer })).not.toHaveProperty('holds');
    expect(judged({ ...row, peer, goal: ratioAtLeast(0.8) }, true)).not.toHaveProperty('holds');
    expect(judged({ ...row, goal: ratioAtLeast(1) })).not.toHaveProperty('holds');
    expect(judged({ ...row, peer: { name: 'none', values: [] }, goal: ratioAtLeast(1) })).not.toHaveProperty('holds');
  });

  it('stands in the table with its goal and verdict, and with the reason where it could not be measured', () => {
    const text = table([
      judged({ ...row, peer, goal: ratioAtLeast(0.9) }),
      judged({ what: 'mqtt', notMeasured: 'not installed' }),
    ]);
    expect(text).toContain(
      '| ingest | points/s | 50.0 / 60.0 / 80.0 | SQLite alone | 60.0 / 100 / 100 | 0.500 / 0.800 / 1.00 | ≥ 0.9× | **no** |',
    );
    expect(text).toContain('| mqtt |  | not measured: not installed |');
  });
});

describe('benchmarks that are run one by one', () => {
  const machine = { ...machineFacts(process.cwd()), commit: 'abc1234' };
  const order = ['ingest', 'rows'];
  const run = (benchmark: string, figure: number): Outcome => ({
    ...{ benchmark, smoke: false, windows: 1, profiled: false, at: '2026-11-21', loadAtStart: 0, seconds: 1 },
    result: { rows: [{ what: benchmark, unit: 's', ours: [figure] }] },
  });

  it('stand in one table, in their order, the newest of each', () => {
    const out = tempDir();
    report(out, machine, [run('rows', 1)], order);
    report(out, machine, [run('ingest', 2)], order);
    const text = report(out, machine, [run('rows', 3)], order);
    expect(text.match(/\| (ingest|rows) \|.*?\d/g)).toEqual(['| ingest | s | 2', '| rows | s | 3']);
  });

  it.each([
    ['another commit', machine, { ...machine, commit: 'def5678' }],
    ['code that is not committed', { ...machine, commit: 'abc1234-dirty' }, { ...machine, commit: 'abc1234-dirty' }],
    ['another machine', machine, { ...machine, cpu: 'another' }],
  ])('do not stand beside those of %s', (_, then, now) => {
    const out = tempDir();
    report(out, then, [run('rows', 1)], order);
    expect(report(out, now, [run('ingest', 2)], order)).not.toContain('| rows |');
  });

  it.each([{ smoke: true }, { windows: 2 }, { profiled: true }])(
    'leave those that were run with another %j',
    (form) => {
      const out = tempDir();
      const first = report(out, machine, [run('rows', 1)], order);
      report(out, machine, [{ ...run('ingest', 2), ...form }], order);
      const [kept = ''] = readdirSync(out).filter((name) => /^bench-until-.*md$/.test(name));
      expect(readFileSync(join(out, kept), 'utf8')).toBe(first);
    },
  );

  it('say how they were measured, and why one failed', () => {
    const failed = { ...run('ingest', 2), loadAtStart: 7.25, failed: 'the disk is full\n  at once' };
    const text = report(tempDir(), machine, [failed], order);
    expect(text).toContain('- ingest: 1 window, 2026-11-21, load 7.3 at its begin; failed: the disk is full\n');
  });

  it('keep a file that is none of theirs under another name', () => {
    const out = tempDir();
    writeFileSync(join(out, 'bench.json'), '{');
    expect(report(out, machine, [run('ingest', 2)], order)).toContain('| ingest | s | 2.00');
  });
});

it('the median of an even number of windows is the mean of the two in the middle', () => {
  expect(spreadOf([4, 1, 3, 2])).toEqual({ min: 1, median: 2.5, max: 4 });
});

it('contenders take turns, after a window each that is not kept', async () => {
  const turns: string[] = [];
  const windowOf = (name: string) => async () => turns.push(name);
  const kept = await interleaved({ windows: 2, smoke: false }, { a: windowOf('a'), b: windowOf('b') });
  expect(turns.join('')).toBe('ababab');
  expect(kept).toEqual({ a: [3, 5], b: [4, 6] });
});

it('a plot has each line, and its words are no markup', () => {
  const svg = svgOf({
    ...{ name: 'p', title: 'a < b', x: { label: 'rows', isLog: true }, y: { label: 'ms' } },
    lines: [
      {
        name: 'ours',
        points: [
          [10, 1],
          [1000, 2],
        ],
      },
    ],
  });
  expect(svg).toContain('<title>a &lt; b</title>');
  expect(svg.match(/<circle/g)).toHaveLength(2);
  expect(svg).not.toContain('NaN');
});

it('a plot’s axis has numbers that read well', () => {
  const axes = { x: { label: 'x', isLog: false }, y: { label: 'y' } };
  const points = [
    [1, 0.5],
    [2, 10.7],
  ] as const;
  const svg = svgOf({ name: 'p', title: 'p', ...axes, lines: [{ name: 'ours', points }] });
  const numbers = [...svg.matchAll(/text-anchor="end" >([^<]+)</g)].map(([, words]) => words);
  expect(numbers).toEqual(['0', '2.5', '5', '7.5', '10', '12.5']);
});

it('an attempt that was told when to come again is none that failed, nor is one while nobody listened', () => {
  const failed = { event: 'failed', robot: 1, at: 1_000 } as const;
  const events = [
    { ...failed, why: 'cloud does not take the session now (503)', retryAfterS: 7 },
    { ...failed, why: 'cloud does not take the session now (503)' },
    { ...failed, why: 'cloud can not be reached: Opening handshake has timed out' },
    { ...failed, why: 'cloud can not be reached: connect ECONNREFUSED 127.0.0.1:8080' },
    { ...failed, why: 'of before', at: 999 },
    { event: 'opened', robot: 1, at: 1_001 } as const,
  ];
  const by = {
    'cloud does not take the session now (503)': 1,
    'cloud can not be reached: Opening handshake has timed out': 1,
  };
  expect(failedAttempts(events, 1_000)).toEqual({ told: 1, untold: 2, by });
});
