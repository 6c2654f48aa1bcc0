import { describe, expect, it } from 'vitest';
import { Overlap } from './overlap.js';

const message = (text: string) => new TextEncoder().encode(text);

describe('two readers of one topic', () => {
  it('hand over once what both receive, whichever is first', () => {
    const overlap = new Overlap(10);
    expect(overlap.isFirst('old', message('a'))).toBe(true);
    expect(overlap.isFirst('new', message('a'))).toBe(false);
    expect(overlap.isFirst('new', message('b'))).toBe(true);
    expect(overlap.isFirst('old', message('b'))).toBe(false);
  });

  it('hand over what only one receives', () => {
    const overlap = new Overlap(10);
    expect(overlap.isFirst('old', message('a'))).toBe(true);
    expect(overlap.isFirst('new', message('b'))).toBe(true);
  });

  it('hand over equal messages as often as they were published', () => {
    const overlap = new Overlap(10);
    const first = [
      overlap.isFirst('old', message('same')),
      overlap.isFirst('old', message('same')),
      overlap.isFirst('new', message('same')),
      overlap.isFirst('new', message('same')),
      overlap.isFirst('new', message('same')),
    ];
    expect(first).toEqual([true, true, false, false, true]);
  });

  it('know what the reader before has handed over when another takes its place', () => {
    const overlap = new Overlap(10);
    overlap.isFirst('new', message('live'));
    overlap.handOver();
    expect(overlap.isFirst('new', message('live'))).toBe(false);
    expect(overlap.isFirst('new', message('live'))).toBe(true);
  });

  it('take no more equal messages for a history than a reader can hold', () => {
    const overlap = new Overlap(10);
    for (let beat = 0; beat < 1000; beat += 1) overlap.isFirst('new', message('heartbeat'));
    overlap.handOver();
    const handed = Array.from({ length: 100 }, () => overlap.isFirst('new', message('heartbeat')));
    expect(handed.filter(Boolean)).toHaveLength(90);
  });

  it('forget the oldest of more than 10 000 messages', () => {
    const overlap = new Overlap(10);
    for (let index = 0; index <= 10_000; index += 1) overlap.isFirst('old', message(String(index)));
    expect(overlap.isFirst('new', message('0'))).toBe(true);
    expect(overlap.isFirst('new', message('1'))).toBe(false);
  });
});
