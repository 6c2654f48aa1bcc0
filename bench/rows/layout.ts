/** Where the filled stores have what: those who fill and those who read agree here. */

/** 2026-01-01: long ago for stamps; retention goes by when rows came. */
export const FIRST_STAMP_MS = Date.UTC(2026, 0, 1);
/** Between two points of a source. */
export const STEP_MS = 100;

export function sourceName(source: number): string {
  return `/bench/fix_${source}`;
}
