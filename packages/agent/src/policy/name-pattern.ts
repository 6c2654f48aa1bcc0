/**
 * Patterns for fully resolved ROS names. In a part between two slashes `*` stands for any characters, also none; `**` as
 * a whole part stands for any number of parts, also none: `/arm/**` is /arm and all below, `/**` is everything.
 */
export interface NamePattern {
  readonly text: string;
  matches(name: string): boolean;
}

const PATTERN_LENGTH_MAX = 256;
const ANY_PARTS = '**';

/** What is wrong with a pattern; null where nothing is. */
export function checkPattern(text: string): string | null {
  if (text.length > PATTERN_LENGTH_MAX) return `must have at most ${PATTERN_LENGTH_MAX} characters`;
  if (!text.startsWith('/'))
    return 'must be a fully resolved name, one that begins with / (patterns may hold * and **)';
  const strange = /[^A-Za-z0-9_/*]/u.exec(text);
  if (strange) return `is made of letters, digits, _, / and *, not of ${JSON.stringify(strange[0])}`;
  if (text.endsWith('/') || text.includes('//')) return 'must not have an empty part (no // and no / at the end)';
  const mixed = partsOf(text).find((part) => part.includes('**') && part !== ANY_PARTS);
  if (mixed !== undefined) return `** stands for whole parts, as in /arm/**, not within one as in ${mixed}`;
  return null;
}

/** @param text one that checkPattern finds nothing wrong with. */
export function namePattern(text: string): NamePattern {
  const parts = partsOf(text);
  return {
    text,
    matches: (name) => matchesRun(parts, partsOf(name), (part) => part === ANY_PARTS, matchesPart),
  };
}

function partsOf(name: string): string[] {
  return name.slice(1).split('/');
}

/** Whether one part is what a pattern's part says, where `*` stands for any characters. */
export function matchesPart(pattern: string, part: string): boolean {
  return matchesRun([...pattern], [...part], (sign) => sign === '*', Object.is);
}

/**
 * Whether `items` are what `pattern` says, where some of its signs stand for any run of them. Looks back to the last
 * such sign only, so that no pattern makes it slow.
 */
export function matchesRun<T>(
  pattern: readonly T[],
  items: readonly T[],
  isAnyRun: (sign: T) => boolean,
  fits: (sign: T, item: T) => boolean,
): boolean {
  let at = 0;
  let anyAt = -1;
  let anyTook = 0;
  for (let index = 0; index < items.length; ) {
    const sign = pattern[at];
    if (sign !== undefined && isAnyRun(sign)) {
      anyAt = at;
      anyTook = index;
      at += 1;
    } else if (sign !== undefined && fits(sign, items[index] as T)) {
      at += 1;
      index += 1;
    } else if (anyAt >= 0) {
      anyTook += 1;
      index = anyTook;
      at = anyAt + 1;
    } else {
      return false;
    }
  }
  return pattern.slice(at).every(isAnyRun);
}
