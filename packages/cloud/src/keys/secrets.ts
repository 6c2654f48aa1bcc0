import { createHash, randomBytes } from 'node:crypto';

/** Bytes of randomness in a key or a token: nothing that SHA-256 alone could not protect. */
const SECRET_BYTES = 32;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export type SecretPrefix = 'drk_' | 'drt_';

/** A new secret: the prefix and 43 letters and digits, which no shell, URL or double click splits. */
export function newSecret(prefix: SecretPrefix, random: (size: number) => Buffer = randomBytes): string {
  let value = BigInt(`0x${random(SECRET_BYTES).toString('hex')}`);
  let text = '';
  for (let place = 0; place < 43; place += 1) {
    text += BASE62[Number(value % 62n)];
    value /= 62n;
  }
  return prefix + text;
}

/**
 * What is stored of a secret, and what it is found by. The lookup is by this hash, so what its timing could tell is
 * about hashes, from which no secret follows.
 */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret, 'utf8').digest('hex');
}

/** What may be shown of a secret: 8 characters of its beginning (the prefix and 4 more), stars, the last 3. */
export function secretHint(secret: string): string {
  return `${secret.slice(0, 8)}************${secret.slice(-3)}`;
}
