/**
 * The uuid of a point or a vital is not stored: it follows from what is (its stamp, its tenant, its row). Shaped as a UUIDv7
 * (RFC 9562 section 5.7), so that it sorts by stamp; the random bits are a hash, so that it tells nothing of other tenants'
 * numbers and never changes.
 */
import { createHash } from 'node:crypto';

/** The stamp that a uuid of pointUuid's shape holds. */
export function stampOfUuid(uuid: string): number {
  return Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16);
}

export function pointUuid(of: 'point' | 'vital', tenantUuid: string, stampMs: number, id: number): string {
  const hash = createHash('sha256').update(`${of} ${tenantUuid} ${stampMs} ${id}`).digest('hex');
  const time = Math.max(0, stampMs).toString(16).padStart(12, '0').slice(-12);
  const variant = ((Number.parseInt(hash.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
  return (
    `${time.slice(0, 8)}-${time.slice(8)}-7${hash.slice(0, 3)}-` + `${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`
  );
}
