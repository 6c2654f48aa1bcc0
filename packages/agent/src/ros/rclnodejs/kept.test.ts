import { describe, expect, it } from 'vitest';
import { Kept } from './kept.js';

const setUp = ({ max = 3, stays = [] as string[] } = {}) => {
  const clock = { ms: 0 };
  const gone: string[] = [];
  const kept = new Kept<string>({
    max,
    idleMs: 100,
    now: () => clock.ms,
    mayGo: (value) => !stays.includes(value),
    letGo: (value) => gone.push(value),
  });
  return { clock, gone, kept, get: (key: string) => kept.get(key, () => key) };
};

describe('what is kept', () => {
  it('is made once', () => {
    const { kept } = setUp();
    const made = kept.get('a', () => 'made');
    expect(kept.get('a', () => 'made again')).toBe(made);
  });

  it('goes when it was not used for long enough', () => {
    const { clock, gone, kept, get } = setUp();
    get('a');
    get('b');
    clock.ms = 80;
    get('b');
    clock.ms = 110;
    kept.sweep();
    expect(gone).toEqual(['a']);
    kept.touch('b');
    clock.ms = 200;
    kept.sweep();
    expect(gone).toEqual(['a']);
  });

  it('stays for as long as it may not go', () => {
    const stays = ['a'];
    const { clock, gone, kept, get } = setUp({ stays });
    get('a');
    clock.ms = 1000;
    kept.sweep();
    expect(gone).toEqual([]);
    stays.pop();
    kept.sweep();
    expect(gone).toEqual(['a']);
  });

  it('makes room by what was not used for longest', () => {
    const { gone, get } = setUp({ stays: ['b'] });
    for (const key of ['a', 'b', 'c', 'a', 'd', 'e']) get(key);
    expect(gone).toEqual(['c', 'a']);
  });

  it('is not given out again once retired, and goes as soon as it may', () => {
    const stays = ['old'];
    const { gone, kept } = setUp({ stays });
    kept.get('a', () => 'old');
    kept.retire('a');
    expect(kept.get('a', () => 'new')).toBe('new');
    kept.sweep();
    expect(gone).toEqual([]);
    stays.pop();
    kept.sweep();
    expect(gone).toEqual(['old']);
  });

  it('is not made when the making fails', () => {
    const { kept } = setUp();
    expect(() =>
      kept.get('a', () => {
        throw new RangeError('no');
      }),
    ).toThrow(RangeError);
    expect(kept.get('a', () => 'made')).toBe('made');
  });
});
