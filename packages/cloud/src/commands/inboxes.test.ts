import type { Hello } from '@drover/shared/link/hello';
import { v7 as uuidv7 } from 'uuid';
import { describe, expect, it } from 'vitest';
import { type KnownInbox, standing } from './inboxes.js';

const [T1, T2, T3] = [uuidv7(), uuidv7(), uuidv7()];

type Place = readonly [tenure: string, version: number];

function said([id, version]: Place, earlier: readonly Place[] = [], last_seq = 9): Hello['inbox'] {
  const lineage = { id, version, earlier: earlier.map(([id, version]) => ({ id, version })) };
  return { id: uuidv7(), last_seq, lineage };
}

const known = (tenure: string | null, version: number, last_seq = 0): KnownInbox => ({ tenure, version, last_seq });

describe('the standing of an inbox', () => {
  it.each([
    ['the same run of the agent, with nothing new', known(T1, 5), said([T1, 5]), 'current'],
    ['the same run of the agent, with more', known(T1, 5), said([T1, 8]), 'current'],
    ['a restart', known(T1, 5), said([T2, 6], [[T1, 5]]), 'current'],
    [
      'two restarts, the first never heard of',
      known(T1, 5),
      said(
        [T3, 7],
        [
          [T2, 6],
          [T1, 5],
        ],
      ),
      'current',
    ],
    ['a copy from before the last run', known(T2, 9), said([T3, 6], [[T1, 5]]), 'stale'],
    ['a copy from amidst the last run', known(T1, 9), said([T2, 9], [[T1, 8]]), 'stale'],
    ['a copy that has written more than the original has told', known(T1, 9), said([T2, 40], [[T1, 8]]), 'stale'],
    ['the original, after a copy of it was taken for current', known(T3, 6), said([T1, 50]), 'stale'],
    [
      'any, to a cloud restored from a backup',
      known(T1, 5),
      said(
        [T3, 90],
        [
          [T2, 80],
          [T1, 70],
        ],
      ),
      'current',
    ],
  ] as const)('%s', (_, state, hello, verdict) => {
    expect(standing(state, hello)).toBe(verdict);
  });

  it('is current where nothing was ever told of it', () => {
    expect(standing(undefined, said([T1, 5]))).toBe('current');
  });

  it('goes by the count of its commands where an agent or the cloud did not know of lineages', () => {
    const old = { id: uuidv7(), last_seq: 4 };
    expect(standing(known(null, 0, 4), old)).toBe('current');
    expect(standing(known(null, 0, 5), old)).toBe('stale');
    expect(standing(known(T1, 5, 4), old)).toBe('current');
    expect(standing(known(null, 0, 9), said([T1, 1]))).toBe('current');
    expect(standing(known(null, 0, 10), said([T1, 1]))).toBe('stale');
  });
});

/** Files, and copies of files and of copies, each written to and told of at random. */
describe('of any files that are copies of one another', () => {
  interface File {
    place: [string, number];
    earlier: Place[];
    /** Every write that led to this state. */
    readonly writes: Set<number>;
  }
  const copyOf = (file: File): File => ({
    place: [uuidv7(), file.place[1]],
    earlier: [[...file.place], ...file.earlier],
    writes: new Set(file.writes),
  });

  it.each([1, 2, 3, 4, 5, 6])('none is taken for current that lacks a write which was told (seed %i)', (seed) => {
    let state = seed * 7919;
    const random = (below: number) => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      return Math.floor((state / 0x7fffffff) * below) % below;
    };
    let files: File[] = [{ place: [uuidv7(), 0], earlier: [], writes: new Set() }];
    let toldTo: KnownInbox | undefined;
    let told: ReadonlySet<number> = new Set();
    const verdicts = { current: 0, stale: 0 };
    for (let step = 0; step < 2_000; step += 1) {
      const file = files[random(files.length)];
      if (!file) continue;
      const action = random(10);
      if (action < 5) {
        file.writes.add(step);
        file.place[1] += 1;
      } else if (action < 6) {
        // A copy is opened by a run of its own, the original by its next one or goes on.
        files.push(copyOf(file));
        if (files.length > 5) files = files.slice(-5);
      } else {
        const { earlier, place } = file;
        const verdict = standing(toldTo, said(place, earlier.slice(0, 64)));
        verdicts[verdict] += 1;
        const lacks = [...told].filter((write) => !file.writes.has(write));
        expect(verdict === 'current' ? lacks : []).toEqual([]);
        if (verdict === 'stale') {
          // It comes again under an id that is new to the cloud; let that be the inbox to look at from here on.
          files = [file];
          toldTo = undefined;
          told = new Set();
          continue;
        }
        toldTo = { tenure: place[0], version: place[1], last_seq: 0 };
        told = new Set(file.writes);
      }
    }
    expect(verdicts.current).toBeGreaterThan(50);
    expect(verdicts.stale).toBeGreaterThan(50);
  });
});
