import { expect, it } from 'vitest';
import { newestLife, newestValue, readProbe } from './probe-file.js';

const text = `life 1
tick 1000000005 01
topic 10 810
tick 1000000006 11
life 2
tick 2000000001 11
goal 23 820
service 30 830
`;

const options = { killed: new Set([1]), counters: 2, dueAfter: 0, dueTo: 2_000_000_001 };

it('tells what each life published to somebody, how it ended, and what commands did', () => {
  const { lives, effects } = readProbe(text, options);
  expect(lives.map(({ number, end, published }) => ({ number, end, published }))).toEqual([
    { number: 1, end: 'killed', published: [[1_000_000_006], [1_000_000_005, 1_000_000_006]] },
    { number: 2, end: 'last', published: [[2_000_000_001], [2_000_000_001]] },
  ]);
  expect(effects).toEqual([
    { interface: 'topic', id: 10, atMs: 810 },
    { interface: 'action_send_goal', id: 23, atMs: 820 },
    { interface: 'service', id: 30, atMs: 830 },
  ]);
});

it('leaves out lives that were looked at before, not what commands did in them', () => {
  const { lives, effects } = readProbe(text, { ...options, dueAfter: 2_000_000_000 });
  expect(lives.map(({ number }) => number)).toEqual([2]);
  expect(effects).toHaveLength(3);
});

it('tells the newest life and the newest value', () => {
  expect([newestLife(text), newestValue(text)]).toEqual([2, 2_000_000_001]);
  expect([newestLife(''), newestValue('')]).toEqual([0, 0]);
});
