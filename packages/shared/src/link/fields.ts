import { z } from 'zod';

/** Fields that several link messages share. */

export const uuid = z.uuid();
/** Milliseconds since the Unix epoch by the clock the field's name says; fractions are allowed. */
export const epochMs = z.number();
/** A sequence number: starts at 1, 0 = none yet. */
export const sequence = z.int().nonnegative();
/** Opaque to agents: compared whole. */
export const robotUid = z.string().min(1).max(128);
export const bytes = z.instanceof(Uint8Array);

/**
 * `live` carries what was collected while connected or just before, `backfill` what waited through an outage. Each has
 * its own sequence, so that a backlog never delays what happens now.
 */
export const lane = z.enum(['live', 'backfill']);
export type Lane = z.infer<typeof lane>;

/**
 * A JSON object as it stands, not rebuilt: z.record would drop an own `__proto__` key without a word and copy every
 * payload.
 */
export const jsonObject = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'expected an object',
);

/** JSON as it stands in a request body or a response, already checked by whoever produced it. */
export const json = z.unknown();

/**
 * A list whose length is looked at before what is in it: what is wrong with each of millions of elements would else be noted
 * one by one, for which no memory suffices.
 */
export function listOf<T extends z.ZodType>(element: T, lengthMax: number) {
  const isBounded = (value: unknown) => Array.isArray(value) && value.length <= lengthMax;
  return z.custom<unknown[]>(isBounded, `must be a list of at most ${lengthMax}`).pipe(z.array(element));
}
