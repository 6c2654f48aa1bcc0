import { ExtData, encode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { countObjects } from './objects.js';

function objectsIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (value instanceof Uint8Array || value instanceof ExtData) return 1;
  return Object.values(value).reduce<number>((sum, inner) => sum + objectsIn(inner), 1);
}

describe('the objects of a MessagePack text', () => {
  it('are its lists, maps and byte strings, however long and deep; not its numbers and texts', () => {
    const long = Array.from({ length: 70_000 }, () => ({}));
    const texts = ['', 'é', 'x'.repeat(200), '\x80'.repeat(300), 'x'.repeat(70_000)];
    const numbers = [0, -1, 127, -33, 200, 70_000, 5e9, -200, -70_000, -5e9, 0.5, null, true, false];
    const bytes = [1, 300, 70_000].map((length) => new Uint8Array(length).fill(0x90));
    const types = [1, 2, 4, 8, 16, 3, 300, 70_000].map((length) => new ExtData(7, new Uint8Array(length).fill(0x80)));
    const maps = { wide: Object.fromEntries(numbers.map((_, n) => [`k${n}`, [n]])), deep: [[[{ a: [1] }]]] };
    const value = [texts, numbers, bytes, types, maps, long];
    expect(countObjects(encode(value))).toBe(objectsIn(value));
    expect(objectsIn(value)).toBeGreaterThan(70_000);
  });

  it('come to an end in any bytes', () => {
    for (let seed = 1; seed < 2_000; seed += 1) {
      const bytes = Uint8Array.from({ length: 64 }, (_, n) => (seed * 2_654_435_761 * (n + 1)) >>> 11);
      expect(countObjects(bytes)).toBeLessThanOrEqual(64);
    }
  });
});
