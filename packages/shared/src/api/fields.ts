import { z } from 'zod';

/** Fields and query parameters that several resources share. */

/** A robot's or a compose file's id: 4 to 29 characters, a letter first (spec part 8). Case matters. */
export const resourceId = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_-]{3,28}$/,
    'must be 4 to 29 characters: a letter, then letters, digits, hyphens or underscores',
  );

/** UTC with milliseconds, as every response has it. */
export const timestamp = z.iso.datetime({ precision: 3 });

/** A display name; control characters would only break the lists it is shown in. */
export const displayName = z
  .string()
  .min(1, 'must not be empty')
  .max(256, 'must be at most 256 characters')
  // Not \p{Cc}: the u flag has no place in a JSON Schema's pattern.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
  .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, 'must not contain control characters');

/** A JSON object as it stands; z.record would rebuild it. */
export const jsonObject = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be a JSON object',
);

/** What confirms a change that has no resource of its own to show. */
export const confirmation = z.strictObject({ message: z.string() }).meta({ id: 'Confirmation' });
export type Confirmation = z.infer<typeof confirmation>;

export const LIMIT_MAX = 1000;

/** A whole number in a query: digits only, never clamped. */
export function integerParameter(min: number, max: number, fallback: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .optional()
    .transform((text, context) => {
      if (text === undefined) return fallback;
      const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
      if (value >= min && value <= max) return value;
      context.issues.push({ code: 'custom', message, input: text });
      return z.NEVER;
    })
    .meta({ type: 'integer', minimum: min, maximum: max, default: fallback });
}

/** A boolean in a query: `true` or `false`, nothing else. */
export const booleanParameter = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .optional()
  .transform((text) => text === 'true')
  .meta({ type: 'boolean', default: false });

const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Milliseconds since the Unix epoch of an RFC 3339 timestamp with its zone, fractions of a millisecond kept; undefined
 * where the text is none.
 */
export function parseTimestamp(text: string): number | undefined {
  const match = RFC3339.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, fraction, zone] = match;
  const [y, mo, d, h, mi, s] = [year, month, day, hour, minute, second].map(Number) as Six;
  if (mo < 1 || mo > 12 || d < 1 || d > daysInMonth(y, mo) || h > 23 || mi > 59 || s > 60) return undefined;
  const whole = new Date(0);
  // Not Date.UTC: it takes the years 0 to 99 for 1900 to 1999.
  whole.setUTCFullYear(y, mo - 1, d);
  whole.setUTCHours(h, mi, s, 0);
  const offsetMinutes = zoneMinutes(zone ?? 'Z');
  if (offsetMinutes === undefined) return undefined;
  return whole.getTime() - offsetMinutes * 60_000 + Number(`0${fraction ?? ''}`) * 1000;
}

type Six = [number, number, number, number, number, number];

function daysInMonth(year: number, month: number): number {
  const end = new Date(0);
  end.setUTCFullYear(year, month, 0);
  return end.getUTCDate();
}

function zoneMinutes(zone: string): number | undefined {
  if (zone === 'Z' || zone === 'z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

/** A moment in a query, as milliseconds since the Unix epoch. */
export const timestampParameter = z
  .string()
  .transform((text, context) => {
    const ms = parseTimestamp(text);
    if (ms !== undefined) return ms;
    const message =
      'must be an RFC 3339 timestamp with a zone, like 2026-01-31T12:00:00Z (a + is written %2B in a URL)';
    context.issues.push({ code: 'custom', message, input: text });
    return z.NEVER;
  })
  .meta({ type: 'string', format: 'date-time' });

/** `offset` and `limit`, as every paged list takes them. */
export const pageParameters = {
  offset: integerParameter(0, Number.MAX_SAFE_INTEGER, 0).meta({ description: 'results to skip' }),
  limit: integerParameter(1, LIMIT_MAX, 50).meta({ description: 'results to take' }),
} as const;
