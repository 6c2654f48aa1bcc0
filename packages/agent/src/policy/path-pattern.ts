import { posix } from 'node:path';
import { matchesPart } from './name-pattern.js';

/**
 * Patterns for paths on the robot: `/data` is that directory and all below it; in a part between two slashes `*` stands
 * for any characters, also none (`/home/*`, `/media/usb*`).
 */
export interface PathPattern {
  readonly text: string;
  /** Whether the path is one of these, or below one. */
  covers(path: string): boolean;
  /** Whether one of these may be below the path. */
  mayBeBelow(path: string): boolean;
  /** The parts before the first with a `*`, as a path. */
  readonly literal: string;
}

const PATTERN_LENGTH_MAX = 1024;

/** What is wrong with a pattern; null where nothing is. */
export function checkPathPattern(text: string): string | null {
  if (text.length > PATTERN_LENGTH_MAX) return `must have at most ${PATTERN_LENGTH_MAX} characters`;
  if (!text.startsWith('/')) return 'must be an absolute path, one that begins with /';
  if (text.includes('**')) return 'must not hold **: a path stands for all below it as well';
  if (text.includes('\0')) return 'must not hold a zero byte';
  if (text !== '/' && posix.normalize(text).replace(/\/$/, '') !== text.replace(/\/$/, '')) {
    return 'must not hold //, . or ..';
  }
  return null;
}

/** @param text one that checkPathPattern finds nothing wrong with. */
export function pathPattern(text: string): PathPattern {
  const parts = pathParts(text);
  const wild = parts.findIndex((part) => part.includes('*'));
  const fits = (path: readonly string[], length: number) =>
    path.slice(0, length).every((part, index) => matchesPart(parts[index] ?? '', part));
  return {
    text,
    literal: `/${(wild < 0 ? parts : parts.slice(0, wild)).join('/')}`,
    covers: (path) => {
      const given = pathParts(path);
      return given.length >= parts.length && fits(given, parts.length);
    },
    mayBeBelow: (path) => {
      const given = pathParts(path);
      return given.length < parts.length && fits(given, given.length);
    },
  };
}

/** Without `.`, `..`, double slashes and one at the end, as the engine reads it. */
export function cleanPath(path: string): string {
  return `/${pathParts(posix.resolve('/', path)).join('/')}`;
}

/** Whether `path` is `directory` or below it; both clean. */
export function isWithin(path: string, directory: string): boolean {
  return directory === '/' || path === directory || path.startsWith(`${directory}/`);
}

function pathParts(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}
