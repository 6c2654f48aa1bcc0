import { type ErrorDetail, pathText } from '@drover/shared/api/errors';

/** Places of a document that would not come out as they were written: at most `placesMax` of them. */
export function inexact(content: Record<string, unknown>, placesMax: number): ErrorDetail[] {
  const found: ErrorDetail[] = [];
  look(content, ['content'], found, placesMax);
  return found;
}

/** As deep as http/body.ts lets a body be. */
function look(value: unknown, path: readonly PropertyKey[], found: ErrorDetail[], placesMax: number): void {
  if (found.length >= placesMax) return;
  const message = whyInexact(value);
  if (message !== null) found.push({ path: pathText(path), message });
  if (Array.isArray(value)) {
    for (const [index, entry] of value.entries()) look(entry, [...path, index], found, placesMax);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, entry] of Object.entries(value)) {
      if (!LONE_SURROGATE.test(key)) look(entry, [...path, key], found, placesMax);
      else found.push({ path: pathText(path), message: `a name in it ${HALF_CHARACTER}` });
    }
  }
}

const LONE_SURROGATE = /\p{Cs}/u;
const HALF_CHARACTER = 'has half a character (a lone surrogate), which YAML can not hold';

function whyInexact(value: unknown): string | null {
  if (typeof value === 'string') return LONE_SURROGATE.test(value) ? HALF_CHARACTER : null;
  // 2^53 + 1 has become 2^53 already, and 1e400 infinity: whoever wrote it meant something else.
  if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return null;
  return 'is a number too large to be kept exactly; write it as a string';
}
