import { describe, expect, it } from 'vitest';
import { ratioAtLeast, ratioAtMost } from './harness/benchmark.js';
import { svgOf } from './harness/plot.js';
import { judged, table } from './harness/table.js';
import { interleaved, spreadOf } from './harness/windows.js';

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
  expect(svg).toContain('a &lt; b');
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
