import type { NumericKind } from './layout.js';
import { INTEGER_RANGE, isFloatKind, isIntegerKind, WIDE_INTEGER_RANGE } from './numbers.js';

/** A value that is no number of the kind, with what was expected instead. */
export class NumberMisfit {
  constructor(readonly expected: string) {}
}

const DECIMAL = /^-?[0-9]{1,20}$/;
const FLOAT_WORDS = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

const WRONG_FLOAT = new NumberMisfit('a number');
const TOO_LARGE_FLOAT = new NumberMisfit('a number within ±3.4028235e38');
const WRONG_INTEGER = mapValues(INTEGER_RANGE, ([min, max]) => `a whole number from ${min} to ${max}`);
const WRONG_WIDE_INTEGER = mapValues(WIDE_INTEGER_RANGE, ([min, max]) => `a whole number from ${min} to ${max}`);
const INEXACT = new NumberMisfit(
  'whole numbers beyond ±9007199254740991 as strings, since JSON numbers are not exact there',
);

/**
 * The number as ROS will hold it: bigint for 64-bit integers (of numbers, decimal strings and bigints), float32 rounded
 * to single precision, floats also of "NaN", "Infinity" and "-Infinity".
 */
export function convertNumber(kind: NumericKind, value: unknown): number | bigint | NumberMisfit {
  if (isFloatKind(kind)) {
    const number = typeof value === 'string' ? FLOAT_WORDS.get(value) : value;
    if (typeof number !== 'number') return WRONG_FLOAT;
    if (kind === 'float64') return number;
    const rounded = Math.fround(number);
    return Number.isFinite(number) && !Number.isFinite(rounded) ? TOO_LARGE_FLOAT : rounded;
  }
  if (isIntegerKind(kind)) {
    const [min, max] = INTEGER_RANGE[kind];
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) return WRONG_INTEGER[kind];
    return value === 0 ? 0 : value;
  }
  const [min, max] = WIDE_INTEGER_RANGE[kind];
  let wide: bigint;
  if (typeof value === 'bigint') wide = value;
  else if (typeof value === 'string' && DECIMAL.test(value)) wide = BigInt(value);
  else if (typeof value === 'number' && Number.isInteger(value)) {
    if (!Number.isSafeInteger(value)) return INEXACT;
    wide = BigInt(value);
  } else return WRONG_WIDE_INTEGER[kind];
  return wide < min || wide > max ? WRONG_WIDE_INTEGER[kind] : wide;
}

function mapValues<K extends string, V>(record: Readonly<Record<K, V>>, words: (value: V) => string) {
  const entries = Object.entries(record) as [K, V][];
  return Object.fromEntries(entries.map(([key, value]) => [key, new NumberMisfit(words(value))])) as Record<
    K,
    NumberMisfit
  >;
}
