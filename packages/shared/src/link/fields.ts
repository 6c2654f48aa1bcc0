import { z } from 'zod';

/** Fields that several link messages share. */

export const uuid = z.uuid();
/** Milliseconds since the Unix epoch by the clock the field's name says; fractions are allowed. */
export const epochMs = z.number();
/** A sequence number: starts at 1, 0 = none yet. */
export const sequence = z.int().nonnegative();
export const bytes = z.instanceof(Uint8Array);

/**
 * `live` carries what was collected while connected or just before, `backfill` what waited through an outage. Each has
 * its own sequence, so that a backlog never delays what happens now.
 */
export const lane = z.enum(['live', 'backfill']);
export type Lane = z.infer<typeof lane>;

/** JSON as it stands in a request body or a response, already checked by whoever produced it. */
export const json = z.unknown();
