import { expect, it } from 'vitest';
import { portsOf } from './ports.js';

it('tells no more ports than can be sent, of however many ranges', { timeout: 10_000 }, () => {
  // Counted out before they are cut off, these take gigabytes and most of a minute.
  const ports = Array.from({ length: 50_000 }, () => ({ target: 80, published: '1-65535' }));
  const found = portsOf({ services: { web: { ports } } }, [], []);
  expect(found).toHaveLength(1000);
  expect(found.at(-1)).toMatchObject({ service: 'web', port: 1000, free: true });
});
