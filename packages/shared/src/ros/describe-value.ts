/** Words for error messages about values. */

const SHOWN_MAX = 60;
/** Longer names are not compared. */
const NAME_MAX = 64;

/** A value as an error names it: short whatever it is. */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length <= SHOWN_MAX
        ? JSON.stringify(value)
        : `${JSON.stringify(value.slice(0, SHOWN_MAX))}… (${value.length} characters)`;
    case 'number':
    case 'boolean':
    case 'bigint':
      return String(value).slice(0, SHOWN_MAX);
    case 'undefined':
      return 'nothing';
    case 'object':
      if (value === null) return 'null';
      if (Array.isArray(value)) return `a list of ${value.length}`;
      return ArrayBuffer.isView(value) ? `${value.byteLength} bytes` : 'an object';
    default:
      return `a ${typeof value}`;
  }
}

/** The known name that a wrong one was most likely meant to be; null where none is near. */
export function nearestName(name: string, known: readonly string[]): string | null {
  if (name.length > NAME_MAX) return null;
  let nearest: string | null = null;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const distance = editDistance(name.toLowerCase(), candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

/** Insertions, deletions and replacements between two short names (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replace = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
