import { matchesPart, matchesRun } from './name-pattern.js';

/**
 * Patterns for images: by the name (`nginx`, `ros`, `registry.example.com/robots/*`, all tags) or with a tag or digest
 * (`nginx:1.*`). `*` stands for any characters of a part between slashes, `**` as a whole part for any parts.
 */
export interface ImagePattern {
  readonly text: string;
  matches(image: ImageName): boolean;
}

/** The ways in which an image may be written that mean the same one. */
export interface ImageName {
  readonly names: readonly string[];
  /** With a digest it means nothing to the engine: then it is what is said, or nothing. */
  readonly tag: string;
  readonly digest: string | null;
}

const PATTERN_LENGTH_MAX = 512;
const HUB = 'docker.io';

export function checkImagePattern(text: string): string | null {
  if (text === '' || text.length > PATTERN_LENGTH_MAX) return `must have 1 to ${PATTERN_LENGTH_MAX} characters`;
  if (/[\s$]/u.test(text)) return 'must hold no spaces and no $';
  const { name } = splitImage(text);
  const parts = name.split('/');
  if (parts.includes('')) return 'must not have an empty part (no // and no / at either end)';
  if (parts.some((part) => part.includes('**') && part !== '**'))
    return '** stands for whole parts, as in example.com/**';
  return null;
}

/**
 * @param text one that checkImagePattern finds nothing wrong with.
 * @param side a rule that allows a tag does not allow a digest beside it: the engine goes by the digest alone.
 */
export function imagePattern(text: string, side: 'allow' | 'deny'): ImagePattern {
  const { name, tag, digest } = splitImage(text);
  const parts = name.split('/');
  return {
    text,
    matches: (image) => {
      if (!image.names.some((known) => matchesRun(parts, known.split('/'), (part) => part === '**', matchesPart)))
        return false;
      if (digest !== null) return image.digest !== null && matchesPart(digest, image.digest);
      if (tag === null) return true;
      return matchesPart(tag, image.tag) && (image.digest === null || side === 'deny');
    },
  };
}

/** An image's name, as docker reads it. */
export function imageName(text: string): ImageName {
  const { name, tag, digest } = splitImage(text);
  const slash = name.indexOf('/');
  const first = name.slice(0, Math.max(slash, 0));
  const hasRegistry = slash > 0 && isRegistry(first);
  const registry = hasRegistry ? first.replace(/^index\.docker\.io$/, HUB) : HUB;
  const path = hasRegistry ? name.slice(slash + 1) : name;
  const names = new Set([`${registry}/${path}`]);
  if (registry === HUB) {
    const short = path.replace(/^library\//, '');
    // Without the registry it would be read as one of another.
    const isShortened = !isRegistry(short.split('/', 1)[0] ?? '') || !short.includes('/');
    for (const form of isShortened ? shortForms(path, short) : []) {
      names.add(form);
    }
  }
  return { names: [...names], tag: tag ?? (digest === null ? 'latest' : ''), digest };
}

function shortForms(path: string, short: string): string[] {
  return [path, short, ...(short.includes('/') ? [] : [`library/${short}`, `${HUB}/library/${short}`])];
}

/** Docker's own way to tell a registry from the first part of a name at its own. */
function isRegistry(part: string): boolean {
  return /[.:]/.test(part) || part === 'localhost' || part !== part.toLowerCase();
}

/**
 * Whether the engine may take it for the id of an image that it has, instead of a name: rules about names would be passed by.
 */
export function mayBeImageId(text: string): boolean {
  return /^(sha256:)?[0-9a-f]{1,64}$/.test(text);
}

function splitImage(text: string): { name: string; tag: string | null; digest: string | null } {
  const at = text.indexOf('@');
  const digest = at < 0 ? null : text.slice(at + 1);
  const rest = at < 0 ? text : text.slice(0, at);
  const colon = rest.lastIndexOf(':');
  // A colon before a slash is that of the registry's port.
  const isTag = colon >= 0 && !rest.includes('/', colon);
  return { name: isTag ? rest.slice(0, colon) : rest, tag: isTag ? rest.slice(colon + 1) : null, digest };
}
